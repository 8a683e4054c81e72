-- The inputs and weights of the calibration tables (docs/reference/calibration.md): numbers seeded by label, at the shape of the main
-- experiment, [2, 750, 1280], or of a small causal attention, [1, 8, 256, 64].
local calibration = {}

local B, S, D = 2, 750, 1280

-- Normal numbers in float64, before anything is rounded.
local function normal(label, scale, ...)
  return assay.normal({ label = label, shape = { ... }, scale = scale, dtype = "fp64" }):tensor()
end

-- t with one token of every batch item replaced by `row` [B, 1, D].
local function with_token(t, at, row)
  local after = t:slice(1, at + 1, S - at - 1):copy()
  local tail = row:concat(after, 1)
  return at == 0 and tail or t:slice(1, 0, at):copy():concat(tail, 1)
end

-- Sines, then cosines, of positions 0, 1, 2 ... running on over the batch: [B, S, D].
local function positions()
  local like = assay.full({ shape = { B * S, D }, dtype = "fp64" }):tensor()
  local theta = 10000 ^ (D / (D - 2))                -- the last of D/2 frequencies is 1/10000
  local function half(part) return like:rope({ part = part, theta = theta, pairing = "half", angles = "fp64" }):slice(1, 0, D // 2):copy() end
  return half("sin"):concat(half "cos", 1):reshape { B, S, D }
end

-- A direction of mean square 1: [1, 1, D].
local function direction()
  local u = normal("x/sink/u", 1, 1, 1, D)
  return u:scale(math.sqrt(D) / u:row_norm())
end

local inputs = {
  flat = function() return normal("x/normal", 1, B, S, D) end,
  -- One constant row, faint positions, a trace of noise, normalised per token.
  silence_like = function()
    return normal("x/sil/noise", 2e-3, B, S, D):plus(positions():scale(0.25)):plus(normal("x/sil/base", 0.6, 1, 1, D)):standardised(1e-5)
  end,
  -- One token much larger than all others.
  hot = function() return with_token(normal("x/hot", 0.02, B, S, D), 377, normal("x/hot/tok", 20, B, D):reshape { B, 1, D }) end,
  -- All tokens share a direction, token 0 carries it 12 times larger.
  sink = function()
    local u = direction()
    local row = u:scale(7)
    return with_token(normal("x/sink", 0.8, B, S, D):plus(u:scale(0.6)), 0, row:concat(row, 0))
  end,
}
inputs.peaky = inputs.flat                       -- with weights of gain 2.5

-- The names, in the order of the tables.
calibration.inputs = { "flat", "peaky", "silence_like", "hot", "sink" }

-- x [2, 750, 1280] in fp16: calibration.input "sink"
function calibration.input(name)
  if not inputs[name] then error(("no input '%s'%s"):format(name, assay.did_you_mean(name, calibration.inputs)), 0) end
  return function() return inputs[name]():to "fp16" end
end

-- Weight gain that goes with an input: 2.5 makes attention peaked.
function calibration.gain(name) return name == "peaky" and 2.5 or 1 end

function calibration.weights(gain)
  local function matrix(name, g) return assay.normal { label = "w/" .. name, shape = { D, D }, scale = g / math.sqrt(D) } end
  local function bias(name) return assay.normal { label = "b/" .. name, shape = { D }, scale = 0.1 } end
  return { q = matrix("q", gain), k = matrix("k", gain), v = matrix("v", 1), bq = bias "q", bv = bias "v" }
end

-- The same context with the weights of the first heads (of 64 channels) alone.
function calibration.first_heads(ctx)
  local weights = {}
  for name, w in pairs(ctx.weights) do weights[name] = w:slice(0, 0, ctx.shapes.heads * 64):copy() end
  return { mil = ctx.mil, shapes = ctx.shapes, weights = weights, with = ctx.with, precision = ctx.precision }
end

-- q, k or v [1, 8, 256, 64] of the small tables, in fp16.
function calibration.small(label, scale) return assay.normal { label = label, shape = { 1, 8, 256, 64 }, scale = scale } end

return calibration
