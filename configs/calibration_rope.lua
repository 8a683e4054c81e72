-- What errors of rotary positions look like: causal attention [1, 8, 256, 64] on turned q and k, each fault beside the right arm, exact
-- but for the fault. --set gain=1 is flat attention; --set rows=last looks at the last 64 tokens alone (the last chunk of a decode).
local cal = require "assay.calibration"

local opt = options {
  gain = { "number", default = 2.5, help = "factor on q and on k: 1 flat, 2.5 peaked" },
  rows = { "string", default = "all", help = "all, or last: the last 64 queries" },
}

local N, E = 256, 64

-- Queries and keys share a direction, so that position carries information.
local function shared(label)
  return function()
    local u = assay.normal({ label = "r/u", shape = { 1, 1, 1, E }, scale = opt.gain == 1 and 1 or 1.5, dtype = "fp64" }):tensor()
    return cal.small(label, opt.gain):tensor():to("fp64"):scale(0.6):plus(u):to "fp16"
  end
end

local function part(m, x, axis, from, to)
  local first, last = { 0, 0, 0, 0 }, { x.shape[1], x.shape[2], x.shape[3], x.shape[4] }
  first[axis + 1], last[axis + 1] = from, to
  return m:slice_by_index { x = x, begin = first, ["end"] = last }
end

local function join(m, axis, ...) return m:concat { values = { ... }, axis = axis, interleave = false } end

-- The table of a turn: positions from `first`; `stored`: the type that its values are rounded to.
local function turn_table(which, with)
  local like = assay.full({ shape = { 1, 1, N, E }, dtype = with.stored or "fp32" }):tensor()
  return like:rope({ part = which, theta = with.theta or 10000, first = with.first or 0, pairing = with.pairing or "half", angles = with.angles or "fp64" }):to "fp32"
end

local function partner(m, x, pairing)
  if pairing ~= "interleaved" then return join(m, -1, m:mul { x = part(m, x, 3, E // 2, E), y = -1 }, part(m, x, 3, 0, E // 2)) end
  local pairs_of = m:reshape { x = x, shape = { 8, N, E // 2, 2 } }
  return m:reshape { x = join(m, -1, m:mul { x = part(m, pairs_of, 3, 1, 2), y = -1 }, part(m, pairs_of, 3, 0, 1)), shape = x.shape }
end

local function turned(m, x, with)
  return m:add { x = m:mul { x = x, y = turn_table("cos", with) }, y = m:mul { x = partner(m, x, with.pairing), y = turn_table("sin", with) } }
end

-- with: fields of turn_table for both, or with.q and with.k apart (false: not turned); with.past: keys before it are not turned.
local function attention(ctx)
  local m, with, shape = ctx.mil, ctx.with, { 1, 8, N, E }
  local function wide(name) return m:cast { x = m:input(name, shape, "fp16"), dtype = "fp32" } end
  local q, k, v = wide "q", wide "k", wide "v"
  local on_q, on_k = with.q == nil and with or with.q, with.k == nil and with or with.k
  local q_turned, k_turned = on_q and turned(m, q, on_q) or q, on_k and turned(m, k, on_k) or k
  if with.past then k_turned = join(m, 2, part(m, k, 2, 0, with.past), part(m, k_turned, 2, with.past, N)) end
  local mask = assay.band({ shape = { 1, 1, N, N }, above = 0, dtype = "bool" }):tensor():choose(0, -math.huge, "fp32")
  local scores = m:add { x = m:matmul { x = m:mul { x = q_turned, y = 1 / math.sqrt(E) }, y = k_turned, transpose_y = true }, y = mask }
  local out = m:matmul { x = m:softmax { x = scores, axis = -1 }, y = v, name = "attention_all" }
  return m:identity { x = opt.rows == "last" and part(m, out, 2, N - 64, N) or out, name = "attention" }
end

local faults = {
  { "no_turn", { q = false, k = false } }, { "keys_not_turned", { k = false } }, { "past_not_turned", { past = N - 64 } },
  { "interleaved", { pairing = "interleaved" } }, { "theta_500000", { theta = 5e5 } }, { "tables_fp16", { stored = "fp16" } }, { "angles_fp16", { angles = "fp16" } },
  { "keys_one_on", { k = { first = 1 } } }, { "both_one_on", { first = 1 } },
}
local arms, rows = {}, { "right", fixture = "rope", expect = "any" }
for _, f in ipairs(faults) do
  arms[#arms + 1] = arm { name = f[1], role = "negative", build = attention, with = f[2], change = { "rope" } }
  rows[#rows + 1] = f[1]
end

return experiment {
  name = "calibration-rope", opset = "iOS18", precision = "fp32",
  reference { arm = "right", precision = "fp64" },
  fixture { name = "rope", inputs = { q = shared "r/q", k = shared "r/k", v = cal.small("r/v", 1) } },
  arm { name = "right", role = "control", build = attention },
  arm { name = "again", role = "candidate", build = attention },
  arms,
  gate { use = "parity", arm = "again", negative = {} },
  compare(rows),
}
