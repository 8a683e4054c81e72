-- Rules on attention and its masks: a right and a wrong program for each (see rules_pair.lua).
local pair = require "rules_pair"
local T = {}

-- One head, channels first: scores [B, key, head, query] as the guide has them. o: axis, scale_after, mask(m), masked_first, select.
local function by_head(o)
  o = o or {}
  return function(m)
    local q, k, v = m:input("q", { 1, 64, 1, 64 }), m:input("k", { 1, 64, 1, 64 }), m:input("v", { 1, 64, 1, 64 })
    if not o.scale_after then k = m:mul { x = k, y = 0.125, name = "k_scaled" } end
    local s = m:einsum { values = { k, q }, equation = "bkhc,bchq->bkhq", name = "scores" }
    if o.scale_after then s = m:mul { x = s, y = 0.125, name = "scores_scaled" } end
    if o.mask then s = m:add { x = s, y = o.mask(m), name = "scores_masked" } end
    if o.select then s = m:select { cond = o.select(m), a = s, b = o.b, name = "scores_masked" } end
    local p = m:softmax { x = s, axis = o.axis or 1, name = "probabilities" }
    return m:einsum { values = { v, p }, equation = "bchk,bkhq->bchq", name = "attention" }
  end
end

-- Four heads, [B, head, S, E]. o: fused, mask, axis, scale_after, rows (queries).
local function heads(o)
  o = o or {}
  return function(m)
    local q, k, v = m:input("q", { 1, 4, 64, 64 }), m:input("k", { 1, 4, 64, 64 }), m:input("v", { 1, 4, 64, 64 })
    local mask = o.mask and o.mask(m)
    if o.fused ~= false then return m:scaled_dot_product_attention { query = q, key = k, value = v, attn_mask = mask, name = "attention" } end
    local s = m:matmul { x = m:mul { q, 0.125 }, y = k, transpose_y = true, name = "scores" }
    if mask then s = m:add { x = s, y = mask, name = "scores_masked" } end
    return m:matmul { x = m:softmax { x = s, axis = o.axis or -1, name = "probabilities" }, y = v, name = "attention" }
  end
end

-- Causal masks, as numbers: [1, 1, query, key], or [1, key, 1, query] with `channels`; `flip` exchanges keys and queries.
local function causal(o)
  o = o or {}
  local allowed = assay.band({ shape = { 1, 1, 64, 64 }, above = 0, dtype = "bool" }):tensor()
  if o.flip then allowed = allowed:permute({ 0, 1, 3, 2 }):copy() end
  if o.channels then allowed = allowed:permute({ 0, 3, 1, 2 }):copy() end
  return function() return allowed:choose(0, o.value or -40000, o.dtype or "fp16") end
end
local function full(value, shape) return function() return assay.full({ value = value, shape = shape, dtype = "fp16" }) end end

-- ---- spelling
pair.ne(T, "fused_attention", "M83_both M130_both", { wrong = heads(), right = by_head(), facts = { framework = "coreai" } })
T.M248_yes_the_fused_op_is_under_test_in_coreml = function() t.equal(#pair.findings("neural-engine", heads()), 0) end
T.M248_no_core_ai_has_no_such_path = function() t.equal(pair.findings("neural-engine", heads(), { framework = "coreai" })[1].rule, "fused_attention") end

-- The skill wants einsum, the shipped code permutes and multiplies: both are right, what differs in meaning is not.
local function permuted(axis)
  return function(m)
    local q, k, v = m:input("q", { 1, 64, 1, 64 }), m:input("k", { 1, 64, 1, 64 }), m:input("v", { 1, 64, 1, 64 })
    local function moved(x, perm) return m:transpose { x = x, perm = perm } end
    local keys = moved(m:mul { k, 0.125 }, { 0, 2, 1, 3 })                                    -- b 1 k c
    local s = moved(m:matmul { x = keys, y = moved(q, { 0, 2, 1, 3 }) }, { 0, 2, 1, 3 })      -- b k 1 q
    local p = moved(m:softmax { x = s, axis = axis }, { 0, 2, 1, 3 })
    return moved(m:matmul { x = moved(v, { 0, 2, 1, 3 }), y = p }, { 0, 2, 1, 3 })            -- b c 1 q
  end
end
local function errors_of(build)
  local list = {}
  for _, f in ipairs(pair.findings("neural-engine", build)) do
    if f.severity == "error" then list[#list + 1] = f.rule end
  end
  return table.concat(list, " ")
end
T.M251_yes_products_as_einsum_or_permuted = function()
  t.equal(errors_of(by_head()), "")
  t.equal(errors_of(permuted(1)), "")
end
T.M251_no_a_spelling_that_means_something_else = function() t.equal(errors_of(permuted(3)), "softmax_keys") end

pair.gpu(T, "per_head_loop", "M83_both", {
  wrong = function(m)
    local q, k, v = m:input("q", { 1, 4, 64, 64 }), m:input("k", { 1, 4, 64, 64 }), m:input("v", { 1, 4, 64, 64 })
    local list = {}
    q = m:relu { q }
    for h = 0, 3 do
      local function cut(x) return m:slice_by_size { x = x, begin = { 0, h, 0, 0 }, size = { 1, 1, 64, 64 } } end
      local s = m:matmul { x = m:mul { cut(q), 0.125 }, y = cut(k), transpose_y = true }
      list[#list + 1] = m:matmul { x = m:softmax { x = s, axis = -1 }, y = cut(v) }
    end
    return m:concat { values = list, axis = 1, interleave = false }
  end,
  right = heads(),
  says = { "4 attentions of one head each" },
})
pair.gpu(T, "fused_lost", "M162_both M217_both M239_both", { wrong = heads { fused = false }, right = heads() })
pair.ne(T, "scale_after_product", "M131_both", { wrong = by_head { scale_after = true }, right = by_head() })
pair.ne(T, "softmax_channel", "M120_both M231_both", { wrong = heads { fused = false }, right = by_head() })
pair.ne(T, "softmax_keys", "M34_both", { wrong = by_head { axis = 3 }, right = by_head(), says = { "normalised over axis 3, the keys are axis 1" } })
pair.gpu(T, "softmax_keys", "M34_both", {
  wrong = function(m)                                                   -- iOS 17 has no fused op, so no other rule speaks
    local x = m:input("x", { 1, 4, 64, 64 })
    local s = m:matmul { x = x, y = m:relu { x }, transpose_y = true }
    return m:matmul { x = m:softmax { x = s, axis = -2 }, y = m:relu { x } }
  end,
  right = function(m)
    local x = m:input("x", { 1, 4, 64, 64 })
    local s = m:matmul { x = x, y = m:relu { x }, transpose_y = true }
    return m:matmul { x = m:softmax { x = s, axis = -1 }, y = m:relu { x } }
  end,
  facts = { opset = "iOS17" },
})

local function sliced(list)
  return function(m)
    local q, k, v = m:input("q", { 1, 1, 64, 64 }), m:input("k", { 1, 1, 64, 64 }), m:input("v", { 1, 1, 64, 64 })
    local out, start = {}, 0
    local keys = m:transpose { x = m:mul { k, 0.125 }, perm = { 0, 2, 1, 3 } }                                                              -- b k h c
    q = m:relu { q }
    for i, n in ipairs(list) do
      local part = m:transpose { x = m:slice_by_size { x = q, begin = { 0, 0, start, 0 }, size = { 1, 1, n, 64 } }, perm = { 0, 3, 1, 2 } }   -- b c h q
      local s = m:einsum { values = { part, keys }, equation = "bchq,bkhc->bkhq" }
      local p = m:softmax { x = s, axis = 1 }
      out[i] = m:einsum { values = { m:transpose { x = v, perm = { 0, 3, 1, 2 } }, p }, equation = "bchk,bkhq->bchq" }
      start = start + n
    end
    return m:concat { values = out, axis = 3, interleave = false }
  end
end
pair.ne(T, "query_chunk", "M134_both", { wrong = sliced { 24, 24, 16 }, right = sliced { 32, 32 }, says = { "chunks of 24 and a remainder of 16" } })

-- ---- masks
pair.ne(T, "mask_shape", "M23_both", { wrong = by_head { mask = full(0, { 2, 64, 1, 64 }) }, right = by_head { mask = full(0, { 1, 64, 1, 64 }) } })
pair.gpu(T, "mask_shape", "M23_both", {                                   -- the fused op refuses such a mask when it is built
  wrong = heads { fused = false, mask = full(0, { 2, 1, 64, 64 }) }, right = heads { fused = false, mask = full(0, { 1, 1, 64, 64 }) }, facts = { opset = "iOS17" } })
pair.ne(T, "mask_nan", "M25_both", { wrong = by_head { mask = full(0 / 0, { 1, 64, 1, 64 }) }, right = by_head { mask = causal { channels = true } } })
pair.gpu(T, "mask_nan", "M25_both", { wrong = heads { mask = full(0 / 0, { 1, 1, 64, 64 }) }, right = heads { mask = causal { value = -math.huge } } })
pair.ne(T, "mask_infinite", "M30_both M204_both M222_both", {
  wrong = by_head { mask = causal { channels = true, value = -math.huge } }, right = by_head { mask = causal { channels = true } } })
pair.ne(T, "mask_room", "M31_both", { wrong = by_head { mask = causal { channels = true, value = -65504 } }, right = by_head { mask = causal { channels = true, value = -1e4 } } })
pair.ne(T, "mask_orientation", "M28_both M203_both M228_both", {
  wrong = by_head { mask = causal { channels = true, flip = true } }, right = by_head { mask = causal { channels = true } }, says = { "axis 1 holds the keys" } })
-- -inf is allowed on the GPU.
pair.gpu(T, "mask_orientation_gpu", "M29_both", {
  wrong = heads { mask = causal { flip = true, value = -math.huge } }, right = heads { mask = causal { value = -math.huge } }, says = { "axis 3 holds the keys" } })

pair.ne(T, "mask_expand", "M133_both", {
  wrong = by_head { mask = function(m) return m:tile { x = m:input("mask", { 1, 64, 1, 32 }), reps = { 1, 1, 1, 2 } } end },
  right = by_head { mask = function(m)
    local half = m:input("mask", { 1, 64, 1, 32 })
    return m:concat { values = { half, half }, axis = 3, interleave = false }
  end },
})
pair.ne(T, "mask_kind", "M24_both M26_both", {
  wrong = by_head { mask = causal { channels = true } }, control = by_head { mask = causal { channels = true, value = -1e4 } },
  right = by_head { mask = causal { channels = true, value = -1e4 } }, says = { "float with -40000, and in the control float with -10000" } })

-- Does the rule speak of two fused arms with these masks?
local function kinds_differ(mine, theirs)
  for _, f in ipairs(pair.findings("gpu", heads { mask = mine }, nil, { control = pair.graph(heads { mask = theirs }) })) do
    if f.rule == "mask_kind" then return true end
  end
  return false
end
local function boolean() return assay.band({ shape = { 1, 1, 64, 64 }, above = 0, dtype = "bool" }):tensor() end
T.M24_both_a_boolean_mask_beside_numbers = function()
  t.ok(kinds_differ(boolean, causal()))
  t.ok(not kinds_differ(boolean, boolean))
end
T.M26_both_infinite_beside_finite = function()
  t.ok(kinds_differ(causal { value = -math.huge }, causal()))
  t.ok(not kinds_differ(causal { value = -math.huge }, causal { value = -math.huge }))
end

-- A chunk of 64 queries behind 64 cached keys, of which 16 are written (t = 16). `off`: what is wrong with it.
local function read_only(off)
  return function(m)
    local q, k, v = m:input("q", { 1, 64, 1, 64 }), m:input("k", { 1, 64, 1, 64 }), m:input("v", { 1, 64, 1, 64 })
    local k_all = m:concat { values = { m:input("k_cache", { 1, 64, 1, 64 }), k }, axis = 3, interleave = false, name = "k_all" }
    local v_all = m:concat { values = { m:input("v_cache", { 1, 64, 1, 64 }), v }, axis = 3, interleave = false, name = "v_all" }
    local keys = m:transpose { x = m:mul { k_all, 0.125 }, perm = { 0, 3, 2, 1 } }
    local cells = {}
    for key = 0, 127 do
      for j = 0, 63 do
        local hidden
        if key < 64 then hidden = key >= 16 + j + (off == "past" and j > 0 and 1 or 0)
        elseif off == "new" then hidden = key - 64 >= j
        else hidden = key - 64 > j end
        cells[#cells + 1] = hidden and -1e4 or 0
      end
    end
    local mask = assay.tensor(cells, { shape = { 1, 128, 1, 64 }, dtype = "fp16" })
    local s = m:add { m:einsum { values = { keys, q }, equation = "bkhc,bchq->bkhq" }, mask, name = "masked" }
    return { m:einsum { values = { v_all, m:softmax { x = s, axis = 1 } }, equation = "bchk,bkhq->bchq" }, m:identity { x = k, name = "new_k" },
      m:identity { x = v, name = "new_v" } }
  end
end
pair.ne(T, "mask_read_only", "M32_both M33_both", { wrong = read_only "past", right = read_only(), says = { "cached key 17 and query 1, with t = 16" } })
T.M33_no_a_query_that_does_not_see_itself = function()
  local found = pair.findings("neural-engine", read_only "new")
  t.equal(#found, 1)
  t.ok(found[1].message:find("a query must see itself", 1, true))
end

-- No rule knows a number of heads that is right or wrong (M50): 20 and 32 heads read the same.
T.M50_both_no_head_count_rule = function()
  local function many(n)
    return function(m)
      local x = m:input("x", { 1, n, 64, 64 })
      return m:scaled_dot_product_attention { query = x, key = x, value = x }
    end
  end
  for _, profile in ipairs { "neural-engine", "gpu" } do
    t.equal(#pair.findings(profile, many(20)), 0)
    t.equal(#pair.findings(profile, many(32)), 0)
  end
  for _, r in ipairs(require "rules.pack") do t.ok(not r.id:find "head_count") end
end

return T
