-- What substitutes of an activation cost: pointwise on 400,000 normal numbers, or behind an MLP ([256, 512], 2048 hidden).
--   assay run configs/calibration_activations.lua --set std=3
-- --set form=mlp|gated takes std as that of the pre-activation; --set steps=fp16 rounds every step, for the function --set of=gelu|silu|tanh.
local opt = options {
  form = { "string", default = "pointwise", help = "pointwise, mlp or gated" },
  of = { "string", default = "gelu", help = "gelu, silu or tanh: the function that is meant" },
  std = { "number", default = 1, help = "standard deviation of the input, or of the pre-activation" },
  steps = { "string", default = "exact", help = "exact, or fp16: every step rounded, on inputs in fp16" },
  spread = { "integer", default = 0, help = "pointwise: 4, 10 or 50 takes uniform numbers up to there instead of normal ones" },
  label = { "string", default = "a/n", help = "which normal numbers" },
}

local C = math.sqrt(2 / math.pi)

-- x + 0.044715 x^3, each product and sum an op of its own.
local function cubic(m, x) return m:add { x = x, y = m:mul { x = m:mul { x = m:mul { x = x, y = 0.044715 }, y = x }, y = x } } end
local function gated_by(m, x, y) return m:mul { x = x, y = m:sigmoid { x = y } } end

local functions = {
  gelu = function(m, x) return m:gelu { x = x, mode = "EXACT" } end,
  gelu_tanh = function(m, x) return m:gelu { x = x, mode = "TANH_APPROXIMATION" } end,
  gelu_cubic = function(m, x) return gated_by(m, x, m:mul { x = cubic(m, x), y = 2 * C }) end,
  gelu_1702 = function(m, x) return gated_by(m, x, m:mul { x = x, y = 1.702 }) end,
  silu = function(m, x) return m:silu { x = x } end,
  silu_chain = function(m, x) return gated_by(m, x, x) end,
  relu = function(m, x) return m:relu { x = x } end,
  tanh = function(m, x) return m:tanh { x = x } end,
  tanh_chain = function(m, x) return m:sub { x = m:mul { x = m:sigmoid { x = m:mul { x = x, y = 2 } }, y = 2 }, y = 1 } end,
}
-- What stands beside each, but for the fault exact; and with every step rounded.
local exact = {
  pointwise = { gelu = { "gelu_tanh", "gelu_cubic", "gelu_1702", "silu", "relu" }, silu = { "gelu" }, tanh = { "tanh_chain" } },
  mlp = { gelu = { "silu", "gelu_1702", "gelu_tanh", "relu" } },
  gated = { silu = { "gelu" } },
}
local rounded = { gelu = { "gelu", "gelu_cubic", "gelu_1702" }, silu = { "silu", "silu_chain" }, tanh = { "tanh", "tanh_chain" } }
local meant = opt.form == "gated" and "silu" or opt.of
if not exact[opt.form] then error("form = pointwise, mlp or gated", 0) end
if not exact[opt.form][meant] then error(("form = %s is not for of = %s"):format(opt.form, opt.of), 0) end

local fp16 = opt.steps == "fp16"
local precision = fp16 and "fp16" or "fp32"
if fp16 and opt.form ~= "pointwise" then error("steps = fp16 is for form = pointwise", 0) end

local function normal(label, scale, ...) return assay.normal { label = label, shape = { ... }, scale = scale, dtype = precision } end

local function pointwise(name)
  return function(ctx)
    local m = ctx.mil
    return m:identity { x = functions[name](m, m:input("x", { 400, 1000 }, precision)), name = "y" }
  end
end

local function mlp(name)
  return function(ctx)
    local m = ctx.mil
    local x = m:input("x", { 256, 512 }, "fp32")
    local function layer(input, label, out, width, scale) return m:linear { x = input, weight = normal(label, scale / math.sqrt(width), out, width):tensor() } end
    local h = layer(x, "a/w1", 2048, 512, opt.std)
    local inner = opt.form == "mlp" and functions[name](m, h) or m:mul { x = functions[name](m, layer(x, "a/wg", 2048, 512, opt.std)), y = h }
    return m:identity { x = layer(inner, "a/w2", 512, 2048, 1), name = "y" }
  end
end

-- Numbers between -spread and spread: the counter generator of the fixtures, 24 bits each.
local function uniform(spread)
  local seed = ({ [4] = 11, [10] = 12, [50] = 13 })[spread] or error("spread = 4, 10 or 50", 0)
  local list = {}
  for i = 1, 400000 do
    local z = seed + i * 0x9E3779B97F4A7C15
    z = (z ~ z >> 30) * 0xBF58476D1CE4E5B9
    z = (z ~ z >> 27) * 0x94D049BB133111EB
    list[i] = ((z ~ z >> 31) >> 40) * 2.0 ^ -24 * (2 * spread) - spread
  end
  return assay.tensor(list, { shape = { 400, 1000 }, dtype = precision })
end

local build = opt.form == "pointwise" and pointwise or mlp
local arms, rows = {}, { "meant", fixture = "normal", expect = "any" }
for n, name in ipairs(fp16 and rounded[meant] or exact[opt.form][meant]) do
  arms[n] = arm { name = name, role = n == 1 and "candidate" or "negative", build = build(name), change = { "activation" } }
  rows[n + 1] = name
end

if opt.spread ~= 0 and opt.form ~= "pointwise" then error("spread is for form = pointwise", 0) end
local x = opt.spread ~= 0 and uniform(opt.spread) or opt.form == "pointwise" and normal(opt.label, opt.std, 400, 1000) or normal("a/x", 1, 256, 512)

return experiment {
  name = "calibration-activations", opset = "iOS18", precision = precision, stop = "never",
  reference { arm = "meant", precision = "fp64" },
  fixture { name = "normal", inputs = { x = x } },
  arm { name = "meant", role = "control", build = build(meant) },
  arms,
  gate { use = "parity", negative = {}, preset = "none", psnr_min_db = 0 },
  compare(rows),
}
