-- What errors of a decode with a read-only cache look like: q, k and v [1, 8, 256, 64] in chunks, a cache of 512 slots, exact but for the
-- fault. --set gain=1 is flat attention; --set empty=noise leaves old keys in unwritten slots; --set part=first or last: that chunk alone.
local cal, decoder = require "assay.calibration", require "assay.decoder"

local opt = options {
  gain = { "number", default = 2.5, help = "factor on q and on k: 1 flat, 2.5 peaked" },
  chunk = { "integer", default = 64, help = "tokens of one call" },
  empty = { "string", default = "zeros", help = "what unwritten slots hold: zeros or noise" },
  part = { "string", default = "all", help = "all tokens, or those of the first or the last call" },
}

local N, E, SLOTS = 256, 64, 512

local function rows_of(m, x, from, to) return m:slice_by_index { x = x, begin = { 0, 0, from, 0 }, ["end"] = { 1, 8, to, E } } end
local function join(m, ...) return m:concat { values = { ... }, axis = 2, interleave = false } end

local function attend(m, q, k, v, mask)
  local scores = m:add { x = m:matmul { x = m:mul { x = q, y = 1 / math.sqrt(E) }, y = k, transpose_y = true }, y = mask }
  return m:matmul { x = m:softmax { x = scores, axis = -1 }, y = v }
end

local function inputs(m)
  local function wide(name) return m:cast { x = m:input(name, { 1, 8, N, E }, "fp16"), dtype = "fp32" } end
  return wide "q", wide "k", wide "v"
end

local function shown(m, out)
  local from, to = opt.part == "last" and N - opt.chunk or 0, opt.part == "first" and opt.chunk or N
  return m:identity { x = rows_of(m, out, from, to), name = "attention" }
end

local function whole(ctx)
  local m = ctx.mil
  local q, k, v = inputs(m)
  return shown(m, attend(m, q, k, v, assay.band({ shape = { 1, 1, N, N }, above = 0, dtype = "bool" }):tensor():choose(0, -math.huge, "fp32")))
end

-- The cache of a call that starts at t: what was written, then the empty slots.
local function cache(m, written, t, label)
  local shape = { 1, 8, SLOTS - t, E }
  local rest = assay.full({ shape = shape, dtype = "fp32" }):tensor()
  if opt.empty == "noise" then rest = assay.normal({ label = label, shape = { 1, 8, SLOTS, E }, dtype = "fp32" }):tensor():slice(2, t, SLOTS - t):copy() end
  return t == 0 and m:const(rest) or join(m, rows_of(m, written, 0, t), rest)
end

local function chunked(ctx)
  local m, with, out = ctx.mil, ctx.with, nil
  local q, k, v = inputs(m)
  for t = 0, N - 1, opt.chunk do
    local to = t + opt.chunk
    local mask = decoder.mask { t = with.offset == "chunk_end" and to or t, queries = opt.chunk, slots = SLOTS, past = with.past }
    local keys = join(m, cache(m, k, t, "k/sk"), rows_of(m, k, t, to))
    local values = join(m, cache(m, v, t, "k/sv"), rows_of(m, v, t, to))
    local o = attend(m, rows_of(m, q, t, to), keys, values, mask:choose(0, -40000, "fp32"))
    out = out and join(m, out, o) or o
  end
  return shown(m, out)
end

local faults = {
  { "past_rule_with_j", { past = "k >= t + j" } }, { "past_one_too_many", { past = "k > t" } }, { "offset_chunk_end", { offset = "chunk_end" } },
  { "chunk_end_with_j", { offset = "chunk_end", past = "k >= t + j" } },
}
local arms, rows = {}, { "right", fixture = "cache", expect = "any" }
for _, f in ipairs(faults) do
  arms[#arms + 1] = arm { name = f[1], role = "negative", build = chunked, with = f[2], change = { "decode_loop" } }
  rows[#rows + 1] = f[1]
end

return experiment {
  name = "calibration-cache", opset = "iOS18", precision = "fp32",
  reference { arm = "whole", precision = "fp64" },
  fixture { name = "cache", inputs = { q = cal.small("k/q", opt.gain), k = cal.small("k/k", opt.gain), v = cal.small("k/v", 1) } },
  arm { name = "whole", role = "control", build = whole },
  arm { name = "right", role = "candidate", build = chunked, change = { "decode_loop" } },
  arms,
  gate { use = "parity", arm = "right", negative = {}, preset = "report" },
  compare(rows),
}
