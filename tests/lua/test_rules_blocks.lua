-- Rules on projections, layouts, norms, gates, rotary tables and embeddings (see rules_pair.lua).
local pair = require "rules_pair"
local T = {}

local BC1S, BSD = { 1, 64, 1, 64 }, { 1, 64, 64 }
local function x_of(m, shape) return m:input("x", shape or BC1S) end
local function linear(m, x, name, weight) return m:linear { x = x, weight = weight or pair.weight { 64, 64 }, name = name } end

-- ---- projections
pair.ne(T, "linear_projection", "M81_both M114_both M116_both M220_both", {
  wrong = function(m) return pair.conv1x1(m, m:relu { linear(m, x_of(m), "projection") }, 64, 64) end,
  right = function(m) return linear(m, m:relu { pair.conv1x1(m, x_of(m), 64, 64) }, "head") end,      -- the trap: the deliberate head
  says = { "main/projection (linear)" },
})
T.M116_both_only_one_head_is_let_through_and_a_waiver_lets_the_rest = function()
  local function two_heads(m) return { linear(m, x_of(m), "first"), linear(m, m:value "x", "second") } end
  t.equal(#pair.findings("neural-engine", two_heads), 1)
  local found = pair.findings("neural-engine", two_heads, { waive = { ["linear_projection@second"] = "the classifier of the second task" } })
  t.equal(found[1].waived, "the classifier of the second task")
end
pair.gpu(T, "conv_projection", "M81_both M157_both", {
  wrong = function(m)
    local x = m:expand_dims { x = m:transpose { x = x_of(m, BSD), perm = { 0, 2, 1 } }, axes = { 2 } }
    return m:squeeze { x = pair.conv1x1(m, x, 64, 64), axes = { 2 } }
  end,
  right = function(m) return linear(m, x_of(m, BSD)) end,
})
pair.ne(T, "projection_weight_rank", "M86_both M115_both", {
  wrong = function(m)
    local y = pair.conv(m, m:squeeze { x = x_of(m), axes = { 2 } }, { ["in"] = 64, out = 64, kernel = { 1 } })
    return m:expand_dims { x = y, axes = { 2 } }
  end,
  right = function(m) return pair.conv1x1(m, x_of(m), 64, 64) end,
})

local shared = assay.normal { label = "rules/shared", shape = { 64, 64 }, dtype = "fp16" }
local function with_weight(weight) return function(m) return pair.conv(m, x_of(m), { ["in"] = 64, out = 64, weight = weight, pad_type = "valid" }) end end
local raised = assay.normal { label = "rules/shared", shape = { 64, 64, 1, 1 }, dtype = "fp16" }
local other = assay.normal { label = "rules/other", shape = { 64, 64, 1, 1 }, dtype = "fp16" }
pair.ne(T, "weight_changed", "M86_both M115_both M211_both", {
  wrong = with_weight(other), right = with_weight(raised), source = function(m) return linear(m, x_of(m, BSD), "source", shared) end })

T.M115_yes_a_concatenated_weight_is_not_known_to_be_wrong = function()
  local source = function(m) return linear(m, x_of(m, BSD), "source", shared) end
  t.equal(#pair.findings("gpu", function(m) return linear(m, x_of(m, BSD), "qkv", pair.weight { 192, 64 }) end, nil, { source = pair.graph(source) }), 0)
end

local function active(kind) return function(m) return m[kind](m, { x_of(m) }) end end
pair.ne(T, "activation_kind", "M159_both M212_both M236_both", {
  wrong = function(m) return m:gelu { x = x_of(m), mode = "EXACT" } end, source = active "silu", says = { "1 gelu/EXACT; the source has 1 silu" },
  right = function(m)
    local x = x_of(m)
    return m:mul { x, m:sigmoid { x } }
  end,
})

-- ---- attention's projections on the GPU. order: where query, key and value are cut out of one projection.
local function heads(m, x) return m:transpose { x = m:reshape { x = x, shape = { 1, 64, 4, 16 } }, perm = { 0, 2, 1, 3 } } end
local function fuse(m, q, k, v) return m:scaled_dot_product_attention { query = heads(m, q), key = heads(m, k), value = heads(m, v) } end
local function qkv(order)
  return function(m)
    local y = linear(m, x_of(m, BSD), "qkv", pair.weight { 192, 64 })
    local function cut(i) return m:slice_by_size { x = y, begin = { 0, 0, 64 * order[i] }, size = { 1, 64, 64 } } end
    return fuse(m, cut(1), cut(2), cut(3))
  end
end
pair.gpu(T, "qkv_order", "M160_both M238_both", { wrong = qkv { 1, 0, 2 }, right = qkv { 0, 1, 2 }, says = { "begin at 64, 0 and 128" } })
pair.gpu(T, "separate_qkv", "M81_both", {
  wrong = function(m)
    local x = x_of(m, BSD)
    return fuse(m, linear(m, x, "q"), linear(m, x, "k"), linear(m, x, "v"))
  end,
  right = qkv { 0, 1, 2 },
})

-- ---- layouts. [B, S, 1, D] in and out, both 64 long, so that no shape tells.
local function bracket(perms, residual)
  return function(m)
    local x = x_of(m)
    local y = m:transpose { x = x, perm = perms[1], name = "into" }
    y = pair.conv1x1(m, y, 64, 64)
    if perms[2] then y = m:transpose { x = y, perm = perms[2], name = "back" } end
    return residual and m:add { x, y, name = "sum" } or y
  end
end
local swap = { 0, 3, 2, 1 }
pair.ne(T, "transpose_pair", "M117_both M206_both M224_both", {
  wrong = bracket { swap, { 0, 2, 1, 3 } }, right = bracket { swap, swap }, says = { "perm (0, 3, 2, 1) in front and (0, 2, 1, 3) behind" } })
pair.ne(T, "layout_neutral", "M89_both M118_both M206_both M225_both", {
  wrong = bracket { swap }, right = bracket { swap, swap }, says = { "comes back in the shape of x with its axes in another order" } })
T.M118_no_a_residual_sum_of_unlike_axes = function()
  local found = pair.findings("neural-engine", bracket({ swap }, true))
  t.equal(found[1].rule, "layout_neutral")
  t.ok(found[1].where:find "sum")
  t.equal(#pair.findings("neural-engine", bracket({ swap, swap }, true)), 0)
end

local function moved(n)
  return function(m)
    local y = x_of(m)
    for _ = 1, n do y = m:relu { m:reshape { x = y, shape = BC1S } } end
    return y
  end
end
pair.ne(T, "data_movement", "M113_both", { wrong = moved(3), right = moved(2), facts = { movement_max = 2 }, says = { "3 ops move data" } })

-- ---- norms and gates
pair.ne(T, "decomposed_norm", "M119_both", {
  wrong = function(m)
    local x = x_of(m)
    local centred = m:sub { x, m:reduce_mean { x = x, axes = { 1 }, keep_dims = true } }
    local variance = m:reduce_mean { x = m:square { centred }, axes = { 1 }, keep_dims = true }
    return m:mul { centred, m:rsqrt { x = m:add { variance, 1e-3 } } }
  end,
  right = function(m) return m:layer_norm { x = x_of(m), axes = { 1 }, epsilon = 1e-3 } end,
})
T.M119_yes_a_root_mean_square_norm_has_no_op = function()
  t.equal(#pair.findings("neural-engine", function(m)
    local x = x_of(m)
    return m:mul { x, m:rsqrt { x = m:add { m:reduce_mean { x = m:square { x }, axes = { 1 }, keep_dims = true }, 1e-3 } } }
  end), 0)
end

local function gated(up_first)
  return function(m)
    local x = x_of(m, BSD)
    local up = up_first and linear(m, x, "up")
    local gate = m:silu { linear(m, x, "gate") }
    up = up or linear(m, x, "up")
    return linear(m, m:mul { up, gate }, "down")
  end
end
pair.gpu(T, "up_before_gate", "M163_both M240_both", { wrong = gated(false), right = gated(true), says = { "gate comes before up" } })

-- ---- tables
local function positions(m) return m:input("positions", { 64 }, "uint16") end
pair.ne(T, "rope_gather", "M136_both M229_both", {
  wrong = function(m)
    local row = m:gather { x = m:const(pair.weight { 128, 64 }, { name = "cos_table" }), indices = positions(m), axis = 0, name = "cos_row" }
    local cos = m:expand_dims { x = m:transpose { x = row, perm = { 1, 0 } }, axes = { 0, 2 } }
    return m:mul { x_of(m), cos }
  end,
  right = function(m) return m:mul { x_of(m), m:input("cos", { 1, 64, 1, 64 }) } end,
})
pair.ne(T, "rope_rank", "M136_both M229_both", {
  wrong = function(m) return m:mul { x_of(m), m:expand_dims { x = m:input("rope_cos", { 64, 64 }), axes = { 0, 2 } } } end,
  right = function(m) return m:mul { x_of(m), m:input("rope_cos", { 1, 64, 1, 64 }) } end,
})
local function embed(shape, make)
  return function(m) return m:gather { x = make and make(m) or m:const(pair.weight(shape)), indices = positions(m), axis = 0 } end
end
pair.ne(T, "embedding_shape", "M82_both M150_both", { wrong = embed { 128, 64 }, right = function(m)
  return m:gather { x = m:input("embedding_table", { 128, 1, 1, 64 }), indices = positions(m), axis = 0 } end })
pair.gpu(T, "embedding_shape_gpu", "M82_both", { wrong = embed { 128, 1, 64 }, right = embed { 128, 64 } })

local function quantised(scales)
  return function(m)
    return m:constexpr_blockwise_shift_scale { data = m:const(assay.full { value = 1, shape = { 128, 1, 1, 64 }, dtype = "int8" }), scale = pair.weight(scales) }
  end
end
pair.ne(T, "embedding_compression", "M150_both", { wrong = embed(nil, quantised { 128, 1, 1, 1 }), right = embed(nil, quantised { 1, 1, 1, 1 }), says = { "128 scales" } })

local function routed(dtype)
  return function(m)
    local _, indices = m:topk { x = m:input("router", { 1, 64 }), k = 2, axis = -1, output_indices_dtype = dtype }
    return m:gather { x = m:const(pair.weight { 64, 64, 64 }), indices = indices, axis = 0 }
  end
end
pair.gpu(T, "expert_indices", "M168_both M243_both", { wrong = routed "int32", right = routed "uint16" })

return T
