-- Decoders with a read-only KV cache: the one-call program, the host's loop around it, and the single pass that both must equal.
--
-- ctx.shapes: x = { 1, T, D }, heads, kv_heads (default heads), head_dim, chunk (tokens of one call), slots (keys the cache holds).
-- ctx.weights: q [heads*E, D], k and v [kv_heads*E, D]. The cache is [1, kv_heads, E, slots]: positions on the last axis, and the
-- call's own keys are joined behind it. The host's loop is unrolled into one program, so that a whole decode is one arm.
--
-- ctx.with, all optional; the first value of each list is right, the others are ways in which ports have gone wrong:
local choices = {
  past = { "k >= t", "k >= t + j", "k > t" },            -- which slots query j of a call that starts at t does not see
  future = { "m > j", "m >= j", "m > j + 1" },           -- which of the call's own keys it does not see
  offset = { "chunk_start", "chunk_end" },               -- what the host takes for t
  cached = { "post_rope", "pre_rope" },                  -- which key goes into the cache
  state = { "kept", "lost" },                            -- what the cache holds at the next call
  slot = { "key_value", "value_key" },                   -- which output goes into which cache
  positions = { "absolute", "per_call" },                -- what the rope tables start from
  group = { "h // group", "h % kv_heads" },              -- the key head of query head h
  pairing = { "half", "interleaved" },                   -- which channels a rotation joins
  tables = { "fp64", "fp32", "fp16" },                   -- arithmetic of the angles
}
local decoder = {}

local function contains(list, word)
  for _, known in ipairs(list) do
    if known == word then return true end
  end
  return false
end

-- ctx.with with everything said; theta = base of the rope, empty = what unwritten slots hold ("zeros" or "noise").
local function settings(with)
  local out = { theta = with.theta or 10000, empty = with.empty or "zeros" }
  for key, list in pairs(choices) do
    out[key] = with[key] or list[1]
    if not contains(list, out[key]) then error(("with.%s = '%s'; known are '%s'"):format(key, out[key], table.concat(list, "', '")), 0) end
  end
  for key in pairs(with) do
    if out[key] == nil then error(("with.%s: a decoder has no such choice"):format(key), 0) end
  end
  return out
end

local function sizes(ctx)
  local s, x = ctx.shapes, ctx.shapes.x
  if not x or #x ~= 3 or x[1] ~= 1 then error("shapes.x = { 1, tokens, width } is needed", 0) end
  local heads = s.heads or error("shapes.heads is needed", 0)
  local out = { T = x[2], D = x[3], H = heads, G = s.kv_heads or heads, E = s.head_dim or x[3] // heads, chunk = s.chunk or 1, slots = s.slots or x[2] }
  if out.H % out.G ~= 0 then error(("shapes: %d heads do not divide among %d kv_heads"):format(out.H, out.G), 0) end
  if out.slots < out.T then error(("shapes: %d tokens do not fit %d slots"):format(out.T, out.slots), 0) end
  return out
end

-- Weights for these sizes, seeded by a label.
function decoder.weights(spec)
  local function matrix(name, heads, gain)
    return assay.normal { label = spec.label .. "/w/" .. name, shape = { heads * spec.head_dim, spec.width }, scale = gain / math.sqrt(spec.width) }
  end
  local gain = spec.gain or 1
  return { q = matrix("q", spec.heads, gain), k = matrix("k", spec.kv_heads or spec.heads, gain), v = matrix("v", spec.kv_heads or spec.heads, 1) }
end

-- Booleans [rows, columns], true where column <= row + shift; shift may be negative.
local function lower(rows, columns, shift)
  local wide = math.max(0, -shift)
  return assay.band({ shape = { rows, columns + wide }, above = shift + wide, dtype = "bool" }):tensor():slice(1, wide, columns):copy()
end

-- Rows that are all equal: the first `open` of the columns are true.
local function columns(rows, n, open)
  local function block(value, width) return assay.full({ value = value, shape = { rows, width }, dtype = "bool" }):tensor() end
  if open <= 0 then return block(0, n) end
  if open >= n then return block(1, n) end
  return block(1, open):concat(block(0, n - open), 1)
end

-- Past slots and the call's own keys that query j sees, true = takes part: [1, 1, queries, slots + queries]. M32, M33, M147.
--   decoder.mask { t = 8, queries = 4, slots = 16, past = "k >= t", future = "m > j" }
function decoder.mask(spec)
  local with = settings { past = spec.past, future = spec.future }
  local n, t = spec.queries, spec.t
  local past = with.past == "k >= t + j" and lower(n, spec.slots, t - 1) or columns(n, spec.slots, with.past == "k > t" and t + 1 or t)
  local own = lower(n, n, ({ ["m > j"] = 0, ["m >= j"] = -1, ["m > j + 1"] = 1 })[with.future])
  return past:concat(own, 1):reshape { 1, 1, n, spec.slots + n }
end

local function heads_of(m, s, x, weight, n, count, name)
  local y = m:linear { x = x, weight = weight, name = name .. "_proj" }
  return m:transpose { x = m:reshape { x = y, shape = { 1, n, count, s.E } }, perm = { 0, 2, 1, 3 }, name = name }
end

local function part(m, x, axis, from, to)
  local first, last = {}, {}
  for i, size in ipairs(x.shape) do first[i], last[i] = 0, size end
  first[axis + 1], last[axis + 1] = from, to
  return m:slice_by_index { x = x, begin = first, ["end"] = last }
end

local function join(m, axis, ...) return m:concat { values = { ... }, axis = axis, interleave = false } end

-- The partner of each channel in its rotation: (-b, a) for the pair (a, b).
local function partner(m, x, pairing)
  local n = x.shape[4]
  if pairing == "half" then return join(m, -1, m:mul { x = part(m, x, 3, n // 2, n), y = -1 }, part(m, x, 3, 0, n // 2)) end
  local pairs_of = m:reshape { x = x, shape = { x.shape[2], x.shape[3], n // 2, 2 } }
  local turned = join(m, -1, m:mul { x = part(m, pairs_of, 3, 1, 2), y = -1 }, part(m, pairs_of, 3, 0, 1))
  return m:reshape { x = turned, shape = x.shape }
end

local function rotate(m, x, rope, pairing)
  return m:add { x = m:mul { x = x, y = rope.cos }, y = m:mul { x = partner(m, x, pairing), y = rope.sin } }
end

-- The constants cos and sin [1, 1, n, E] of positions first .. first+n-1.
local function tables(ctx, s, with, first, n)
  local like = assay.full({ shape = { 1, 1, n, s.E }, dtype = ctx.precision }):tensor()
  local function part_of(name) return like:rope { part = name, theta = with.theta, first = first, pairing = with.pairing, angles = with.tables } end
  return { cos = part_of "cos", sin = part_of "sin" }
end

-- [1, G, E, N] -> [1, H, E, N]: query head h reads key head h // group.
local function spread(m, s, x, group)
  local copies = s.H // s.G
  if copies == 1 then return x end
  if group == "h % kv_heads" then return m:tile { x = x, reps = { 1, copies, 1, 1 } } end
  local apart = m:reshape { x = x, shape = { s.G, 1, s.E, x.shape[4] } }
  return m:reshape { x = m:tile { x = apart, reps = { 1, copies, 1, 1 } }, shape = { 1, s.H, s.E, x.shape[4] } }
end

-- Attention over keys and values [1, G, E, N] with a mask to add.
local function attend(m, s, with, q, keys, values, mask, name)
  local scaled = m:mul { x = q, y = 1 / math.sqrt(s.E) }
  local scores = m:add { x = m:matmul { x = scaled, y = spread(m, s, keys, with.group) }, y = mask }
  local weights = m:softmax { x = scores, axis = -1 }
  return m:matmul { x = weights, y = spread(m, s, values, with.group), transpose_y = true, name = name }
end

-- q [1, H, n, E] and key, raw key, value [1, G, E, n] of n tokens.
local function project(ctx, s, with, x, n, rope, tag)
  local m, w = ctx.mil, ctx.weights
  local function last(v, name) return m:transpose { x = v, perm = { 0, 1, 3, 2 }, name = name .. tag } end
  local q = rotate(m, heads_of(m, s, x, w.q, n, s.H, "q_raw" .. tag), rope, with.pairing)
  local raw = heads_of(m, s, x, w.k, n, s.G, "k_raw" .. tag)
  return q, last(rotate(m, raw, rope, with.pairing), "key"), last(raw, "raw_key"), last(heads_of(m, s, x, w.v, n, s.G, "v" .. tag), "value")
end

-- One call on n tokens: what the program on the device does. Returns attention, the key and the value that go back to the host.
local function call(ctx, s, with, x, n, rope, cache, mask, tag)
  local m = ctx.mil
  local q, key, raw, value = project(ctx, s, with, x, n, rope, tag)
  local out = attend(m, s, with, q, join(m, -1, cache.k, key), join(m, -1, cache.v, value), mask, "attention" .. tag)
  return out, with.cached == "pre_rope" and raw or key, value
end

-- The one-call program: inputs x, k_cache, v_cache, rope_cos, rope_sin, mask; outputs attention, new_k, new_v.
function decoder.step(ctx)
  local m, s, with = ctx.mil, sizes(ctx), settings(ctx.with)
  local n = s.chunk
  local x = m:input("x", { 1, n, s.D })
  local cache = { k = m:input("k_cache", { 1, s.G, s.E, s.slots }), v = m:input("v_cache", { 1, s.G, s.E, s.slots }) }
  local rope = { cos = m:input("rope_cos", { 1, 1, n, s.E }), sin = m:input("rope_sin", { 1, 1, n, s.E }) }
  local out, key, value = call(ctx, s, with, x, n, rope, cache, m:input("mask", { 1, 1, n, s.slots + n }), "")
  local function named(v, name) return m:identity { x = v, name = name } end
  return { out, named(key, "new_k"), named(value, "new_v") }
end

-- What the host keeps between calls: the written keys or values, then the empty slots.
local function filled(ctx, s, with, written, which)
  local used = written and written.shape[4] or 0
  if used == s.slots then return written end
  local shape = { 1, s.G, s.E, s.slots - used }
  local rest = with.empty == "noise" and assay.normal { label = "decoder/stale/" .. which, shape = shape } or assay.full { shape = shape, dtype = ctx.precision }
  rest = rest:tensor():to(ctx.precision)
  return written and join(ctx.mil, -1, written, rest) or ctx.mil:const(rest)
end

-- The host's loop: chunks of `chunk` tokens in turn, each on the cache that the calls before have left.
-- Outputs: attention [1, H, T, E], keys and values [1, G, E, T] as the host has written them.
function decoder.loop(ctx)
  local m, s, with = ctx.mil, sizes(ctx), settings(ctx.with)
  local x, out, kept_k, kept_v, all_k, all_v = m:input("x", ctx.shapes.x), nil, nil, nil, nil, nil
  local function append(list, new, axis) return list and join(m, axis, list, new) or new end
  for t = 0, s.T - 1, s.chunk do
    local n, tag = math.min(s.chunk, s.T - t), ("_t%d"):format(t)
    local rope = tables(ctx, s, with, with.positions == "absolute" and t or 0, n)
    local mask = decoder.mask { t = with.offset == "chunk_end" and t + n or t, queries = n, slots = s.slots, past = with.past, future = with.future }
    local cache = { k = filled(ctx, s, with, kept_k, "k"), v = filled(ctx, s, with, kept_v, "v") }
    local o, key, value = call(ctx, s, with, part(m, x, 1, t, t + n), n, rope, cache, mask:choose(0, -math.huge, ctx.precision), tag)
    if with.slot == "value_key" then key, value = value, key end
    out, all_k, all_v = append(out, o, 2), append(all_k, key, -1), append(all_v, value, -1)
    if with.state == "kept" then kept_k, kept_v = all_k, all_v end
  end
  local function named(v, name) return m:identity { x = v, name = name } end
  return { named(out, "attention"), named(all_k, "keys"), named(all_v, "values") }
end

-- All tokens in one pass under a causal mask: the intent, for a control and a reference.
function decoder.whole(ctx)
  local m, s, with = ctx.mil, sizes(ctx), settings(ctx.with)
  local q, key, _, value = project(ctx, s, with, m:input("x", ctx.shapes.x), s.T, tables(ctx, s, with, 0, s.T), "")
  local mask = lower(s.T, s.T, 0):reshape({ 1, 1, s.T, s.T }):choose(0, -math.huge, ctx.precision)
  local out = attend(m, s, with, q, key, value, mask, "attention")
  local function named(v, name) return m:identity { x = v, name = name } end
  return { out, named(key, "keys"), named(value, "values") }
end

-- Known faults: name, wrong choice, and whether it needs calls of more than one token to make a difference.
local faults = {
  { "past_rule_with_j", { past = "k >= t + j" }, true },
  { "past_one_too_many", { past = "k > t" } },
  { "own_key_masked", { future = "m >= j" } },
  { "next_key_seen", { future = "m > j + 1" }, true },
  { "offset_chunk_end", { offset = "chunk_end" } },
  { "key_before_rope_cached", { cached = "pre_rope" } },
  { "state_lost", { state = "lost" } },
  { "key_value_swapped", { slot = "value_key" } },
  { "positions_restart", { positions = "per_call" } },
  { "groups_interleaved", { group = "h % kv_heads" } },
  { "rope_pairing", { pairing = "interleaved" } },
  { "rope_theta", { theta = 500000 } },
}

-- The faults that must be seen when a decode runs in calls of `chunk` tokens: { { name, with }, ... }.
function decoder.faults(chunk)
  local list = {}
  for _, fault in ipairs(faults) do
    if chunk > 1 or not fault[3] then list[#list + 1] = { fault[1], fault[2] } end
  end
  return list
end

return decoder
