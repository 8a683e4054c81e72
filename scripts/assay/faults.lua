-- Faults: ways in which attention goes wrong, each a short function that changes a program. Families say what a program must
-- have for the fault to exist; a third field adds to that. `assay.mutants` makes arms of them.
-- (M185: a transposed read is among them.)
local surgery = require "assay.surgery"
local at, part, patched, join = surgery.at, surgery.part, surgery.patched, surgery.join

local faults = {}

local function times(factor)
  return function(m, x) return m:mul { x = x, y = factor } end
end

local function rolled(axis)
  return function(m, x)
    local n = x.shape[axis + 1]
    return join(m, { part(m, x, axis, 1, n), part(m, x, axis, 0, 1) }, axis)
  end
end

local function head_dim(x) return x.shape[#x.shape] end

-- The width that the projection reads: 1280 where 20 heads of 64 stand.
local function model_width(x)
  local linear = surgery.source(x, "linear")
  local input = linear and linear:arg "x"
  return input and input.shape[#input.shape] or x.shape[2] * head_dim(x)
end

-- ---- the output
local function constant_mean(m, x)
  return m:add { x = m:mul { x = x, y = 0 }, y = m:reduce_mean { x = x, axes = { 0, 1, 2, 3 }, keep_dims = true } }
end

-- The last tile of 16 rows, as a kernel leaves it that works in whole tiles.
local function tail_zero(m, x)
  local n = x.shape[3]
  return patched(m, x, 2, n - math.min(16, n), n, times(0))
end

local function half_of_heads_zero(m, x)
  local n = x.shape[2]
  return patched(m, x, 1, n // 2, n, times(0))
end

local function one_head_zero(m, x)
  local h = x.shape[2] // 2
  return patched(m, x, 1, h, h + 1, times(0))
end

-- One row of one head of one batch item.
local function one_row_zero(m, x)
  local row = x.shape[3] * 8 // 15
  return patched(m, x, 0, 0, 1, function(_, item)
    return patched(m, item, 1, 0, 1, function(_, head) return patched(m, head, 2, row, row + 1, times(0)) end)
  end)
end

local function heads_swapped(m, x)
  local n = x.shape[2]
  local values = { part(m, x, 1, 1, 2), part(m, x, 1, 0, 1) }
  if n > 2 then values[3] = part(m, x, 1, 2, n) end
  return join(m, values, 1)
end

-- The memory of a permuted tensor read in the shape that is expected.
local function memory_of(...)
  local perm = { ... }
  return function(m, x) return m:reshape { x = m:transpose { x = x, perm = perm }, shape = x.shape } end
end

-- Rows stand in memory at a stride of whole blocks of 32 elements (one more where they fit exactly), and are read without gaps.
local function non_contiguous_read(m, x)
  local count, padding = 1, 32 - head_dim(x) % 32
  for _, n in ipairs(x.shape) do count = count * n end
  local padded = m:pad { x = x, pad = { 0, 0, 0, 0, 0, 0, 0, padding }, mode = "constant", constant_val = 0 }
  local flat = m:reshape { x = padded, shape = { count // head_dim(x) * (head_dim(x) + padding) } }
  return m:reshape { x = part(m, flat, 0, 0, count), shape = x.shape }
end

-- ---- scores
local function rescaled(factor)
  return at("q", function(m, x) return m:mul { x = x, y = factor(x) } end)
end

-- Attention computed anew from the operands of each: change gives q, k, v and the axis of the softmax.
local function again(change)
  return function(m)
    for _, s in ipairs(surgery.attentions(m)) do
      local c = change(m, s)
      m:at_end()
      local logits = m:matmul { x = c.q or s.q, y = c.k or s.k, transpose_y = true }
      if s.mask then logits = m:add { x = logits, y = s.mask } end
      m:replace(s.out, m:matmul { x = m:softmax { x = logits, axis = -1 }, y = c.v or s.v })
    end
  end
end

-- A projection [H, E] whose columns are read as [E, H].
local function split_as_columns(m, x)
  local s = x.shape
  local y = m:reshape { x = m:transpose { x = x, perm = { 0, 2, 1, 3 } }, shape = { s[1], s[3], s[4], s[2] } }
  return m:transpose { x = y, perm = { 0, 3, 1, 2 } }
end

local function heads_split_as_columns(m)
  for _, s in ipairs(surgery.attentions(m)) do
    for _, name in ipairs { "q", "k", "v" } do
      m:after(s[name])
      m:replace(s[name], split_as_columns(m, s[name]))
    end
  end
end

-- a [.., L, K] times b [.., K, N], the running sum rounded to the program's type after every product.
local function narrow_product(m, a, b)
  local sum
  for i = 0, a.shape[4] - 1 do
    local step = m:mul { x = part(m, a, 3, i, i + 1), y = part(m, b, 2, i, i + 1) }
    sum = sum and m:add { x = sum, y = step } or step
  end
  return sum
end

-- Both products of the first `heads` heads accumulate in the program's own type: fp16 where a unit has fp32.
function faults.narrow_accumulation(heads)
  return function(m)
    for _, s in ipairs(surgery.attentions(m)) do
      m:at_end()
      local n = math.min(heads, s.out.shape[2])
      local function head(x) return part(m, x, 1, 0, n) end
      local logits = narrow_product(m, head(s.q), m:transpose { x = head(s.k), perm = { 0, 1, 3, 2 } })
      if s.mask then logits = m:add { x = logits, y = s.mask } end
      local out = narrow_product(m, m:softmax { x = logits, axis = -1 }, head(s.v))
      local rest = n < s.out.shape[2] and part(m, s.out, 1, n, s.out.shape[2]) or nil
      m:replace(s.out, join(m, { out, rest }, 1))
    end
  end
end

-- ---- projections
-- The projection behind a value without its bias.
local function bias_dropped(name)
  return function(m)
    for _, s in ipairs(surgery.attentions(m)) do
      local linear = surgery.source(s[name], "linear")
      m:after(linear)
      m:replace(linear.out, m:linear { x = linear:arg "x", weight = surgery.operand(linear, "weight") })
    end
  end
end

-- { name, function [, "what else the program must have"] }
faults.attention = {
  { "zero_output", at("out", times(0)) },
  { "constant_output", at("out", constant_mean) },
  { "sign_flipped", at("out", times(-1)) },
  { "output_doubled", at("out", times(2)) },
  { "output_2_percent_high", at("out", times(1.02)) },
  { "gain_high", at("out", times(1 + 2 ^ -6)) },
  { "gain_low", at("out", times(1 - 2 ^ -6)) },
  { "scale_twice", rescaled(function(x) return 1 / math.sqrt(head_dim(x)) end) },
  { "scale_missing", rescaled(function(x) return math.sqrt(head_dim(x)) end) },
  { "scale_of_model_width", rescaled(function(x) return math.sqrt(head_dim(x) / model_width(x)) end), "heads" },
  { "scale_3_percent_off", rescaled(function() return 1.03 end) },
  { "uniform_attention", at("scores", times(0)) },
  { "q_k_swapped", again(function(_, s) return { q = s.k, k = s.q } end) },
  { "k_v_swapped", again(function(_, s) return { k = s.v, v = s.k } end) },
  { "softmax_over_queries", at("weights", function(m, _, s) return m:softmax { x = s.logits, axis = -2 } end) },
  { "heads_rotated", at("out", rolled(1)), "heads" },
  { "heads_swapped", at("out", heads_swapped), "heads" },
  { "heads_split_as_columns", heads_split_as_columns, "heads" },
  { "batch_swapped", at("out", rolled(0)), "batch" },
  { "v_of_other_batch", at("v", rolled(0)), "batch" },
  { "tokens_shifted", at("out", rolled(2)) },
  { "keys_shifted", at("k", rolled(2)) },
  { "one_head_zero", at("out", one_head_zero) },
  { "half_of_heads_zero", at("out", half_of_heads_zero), "heads" },
  { "one_row_zero", at("out", one_row_zero) },
  { "tail_tile_zero", at("out", tail_zero) },
  { "layout_misread", at("out", memory_of(0, 2, 1, 3)), "heads" },
  { "channels_first_misread", at("out", memory_of(0, 1, 3, 2)) },
  { "non_contiguous_read", at("out", non_contiguous_read) },
  { "fp16_accumulation", faults.narrow_accumulation(1) },
  { "q_bias_dropped", bias_dropped "q", "q_bias" },
  { "v_bias_dropped", bias_dropped "v", "v_bias" },
}

-- ---- masks: an additive one is taken apart into what takes part (0) and what does not (below -1)
local function masked(change)
  return function(m)
    for _, s in ipairs(surgery.attentions(m)) do
      if s.mask then
        m:after(s.masked)
        m:replace(s.masked, change(m, s))
      end
    end
  end
end

local function with_mask(change)
  return masked(function(m, s) return m:add { x = s.unmasked, y = change(m, s.mask) } end)
end

-- allowed where keys take part, blocked where they do not.
local function rewritten(allowed, blocked)
  return with_mask(function(m, mask)
    local shut = m:cast { x = m:less { x = mask, y = -1 }, dtype = m.precision }
    return m:add { x = m:mul { x = shut, y = blocked - allowed }, y = allowed }
  end)
end

-- The mask moved by one along an axis; its first or last line stays.
local function moved(axis, by)
  return with_mask(function(m, mask)
    local k = #mask.shape + axis
    local n = mask.shape[k + 1]
    if by > 0 then return join(m, { part(m, mask, k, 0, 1), part(m, mask, k, 0, n - 1) }, k) end
    return join(m, { part(m, mask, k, 1, n), part(m, mask, k, n - 1, n) }, k)
  end)
end

faults.mask = {
  { "mask_ignored", masked(function(_, s) return s.unmasked end) },
  { "mask_inverted", rewritten(-40000, 0) },
  { "mask_added_as_0_and_1", rewritten(1, 0) },
  { "mask_sentinel_weak", rewritten(0, -10) },
  { "mask_transposed", with_mask(function(m, mask) return m:transpose { x = mask, perm = { 0, 1, 3, 2 } } end), "square_mask" },
  { "mask_strict", moved(-2, 1), "square_mask" },
  { "mask_sees_next_key", moved(-2, -1), "square_mask" },
  { "mask_one_key_short", moved(-1, -1) },
}

-- ---- rotary positions
-- change(m, rotary) gives the value that takes the place of rotary[name], for each of the names in `of` ("k", "q").
local function turned(name, of, change)
  return function(m)
    for _, s in ipairs(surgery.attentions(m)) do
      for _, operand in ipairs(of) do
        local r = surgery.rotary(s[operand])
        m:after(r[name])
        m:replace(r[name], change(m, r))
      end
    end
  end
end

-- Pairs (0, 1), (2, 3) ... where halves (0, E/2), (1, E/2 + 1) ... are meant: the same turn of rearranged channels.
local function interleaved(m, r)
  local order, E = {}, head_dim(r.x)
  for i = 0, E - 1 do order[i % 2 * (E // 2) + i // 2 + 1] = i end
  return m:gather { x = r.x, indices = order, axis = -1 }
end

-- Keys from the cache were stored before the turn, only the newest quarter is turned.
local function early_keys_straight(m, r)
  local n = r.x.shape[3]
  return join(m, { part(m, r.x, 2, 0, n - n // 4), part(m, r.out, 2, n - n // 4, n) }, 2)
end

-- The turn again with tables of another base; rows are positions 0, 1, 2 ...
local function another_base(base)
  return function(m, r)
    local tokens, E = r.x.shape[3], head_dim(r.x)
    local position, frequency = {}, {}
    for i = 1, tokens do position[i] = i - 1 end
    for i = 1, E // 2 do frequency[i] = base ^ (-2 * (i - 1) / E) end
    local half = m:mul { x = assay.tensor(position, { shape = { tokens, 1 }, dtype = "fp32" }), y = assay.tensor(frequency, { shape = { 1, E // 2 }, dtype = "fp32" }) }
    local angle = m:reshape { x = join(m, { half, half }, -1), shape = { 1, 1, tokens, E } }
    local turn = m:concat { values = { m:mul { x = part(m, r.x, 3, E // 2, E), y = -1 }, part(m, r.x, 3, 0, E // 2) }, axis = -1, interleave = false }
    local cos, sin = m:cast { x = m:cos { x = angle }, dtype = m.precision }, m:cast { x = m:sin { x = angle }, dtype = m.precision }
    return m:add { x = m:mul { x = r.x, y = cos }, y = m:mul { x = turn, y = sin } }
  end
end

local both = { "q", "k" }
faults.rotary = {
  { "rotary_missing", turned("out", both, function(_, r) return r.x end) },
  { "rotary_keys_straight", turned("out", { "k" }, function(_, r) return r.x end) },
  { "rotary_cached_keys_straight", turned("out", { "k" }, early_keys_straight) },
  { "rotary_interleaved", turned("x", both, interleaved) },
  { "rotary_base_500000", turned("out", both, another_base(5e5)) },
}

-- ---- activations
local function instead_of_activation(build)
  return function(m)
    for _, op in ipairs(m:find()) do             -- as it was: what a change puts in is not changed again
      if op.type == "gelu" or op.type == "silu" or op.type == "relu" then
        m:after(op)
        m:replace(op.out, build(m, op:arg "x", op.type))
      end
    end
  end
end

faults.activation = {
  { "activation_other", instead_of_activation(function(m, x, name) return name == "silu" and m:gelu { x = x, mode = "EXACT" } or m:silu { x = x } end) },
  { "activation_missing", instead_of_activation(function(m, x) return m:identity { x = x } end) },
}

-- ---- inputs: how a runtime hands them over. `run.inputs` holds the recipes of the first fixture by name.
-- Two inputs of one shape change places, as in a runtime that binds by position.
local function last_inputs_swapped(m)
  local inputs = m:inputs()
  local a, b = inputs[#inputs - 1], inputs[#inputs]
  local n = a.shape[1]
  m:after(a)
  local both_inputs = join(m, { b, a }, 0)
  m:replace(a, part(m, both_inputs, 0, 0, n))
  m:replace(b, part(m, both_inputs, 0, n, 2 * n))
end

faults.inputs = {
  { "inputs_by_position", last_inputs_swapped, "twin_inputs" },
  { "stale_first_run", function(m, run)
    for _, input in ipairs(m:inputs()) do
      local first = run.inputs[input.name]
      if type(first) == "string" then first = assay.npy(first) end
      if type(first) == "userdata" then m:replace(input, m:const(first:tensor())) end
    end
  end },
}

return faults
