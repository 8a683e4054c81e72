-- Attention arms: build functions for `arm { build = ... }`, one spelling each, and what is done to them.
--
-- All read ctx.shapes: x = { B, S, D }, heads, head_dim; ctx.weights: q, k, v [H*E, D], bq, bk, bv [H*E] (biases optional);
-- ctx.with.mask: a mask of assay.masks. All name their operands q, k, v ([B, H, S, E], before any scale) and their output
-- `attention` ([B, H, S, E]), so that arms compare element by element and a reference can be cut at q, k, v.
local masks = require "assay.masks"

local attn = {}

local function sizes(ctx)
  local x = ctx.shapes.x
  if not x or #x ~= 3 then error("shapes.x = { batch, tokens, width } is needed", 0) end
  local heads = ctx.shapes.heads or error("shapes.heads is needed", 0)
  local head_dim = ctx.shapes.head_dim or x[3] // heads
  return { B = x[1], S = x[2], D = x[3], H = heads, E = head_dim }
end

-- [B, S, D] through a linear layer, cut into heads: [B, H, S, E].
local function project(m, s, x, weight, bias, name)
  if not weight then error(("weights.%s is missing: declare weights { ... }"):format(name), 0) end
  local y = m:linear { x = x, weight = weight, bias = bias, name = name .. "_proj" }
  y = m:reshape { x = y, shape = { s.B, s.S, s.H, s.E }, name = name .. "_heads" }
  return m:transpose { x = y, perm = { 0, 2, 1, 3 }, name = name }
end

-- Input x and its projections q, k, v.
local function projections(ctx)
  local m, w, s = ctx.mil, ctx.weights, sizes(ctx)
  local x = m:input("x", ctx.shapes.x)
  local q = project(m, s, x, w.q, w.bq, "q")
  local k = project(m, s, x, w.k, w.bk, "k")
  local v = project(m, s, x, w.v, w.bv, "v")
  return s, q, k, v, x
end

-- q, k, v as inputs: no projection in the program.
local function qkv_inputs(ctx)
  local m, s = ctx.mil, sizes(ctx)
  local shape = { s.B, s.H, s.S, s.E }
  return s, m:input("q", ctx.shapes.q or shape), m:input("k", ctx.shapes.k or shape), m:input("v", ctx.shapes.v or shape)
end

-- Softmax attention spelled out: the query is scaled before the product, as the converter does it.
local function spell_out(ctx, s, q, k, v, mask)
  local m = ctx.mil
  local scaled = m:mul { x = q, y = 1 / math.sqrt(s.E), name = "q_scaled" }
  local scores = m:matmul { x = scaled, y = k, transpose_y = true, name = "scores" }
  if mask then scores = m:add { x = scores, y = mask, name = "scores_masked" } end
  local weights = m:softmax { x = scores, axis = -1, name = "probabilities" }
  return m:matmul { x = weights, y = v, name = "attention" }
end

-- One fused op. A mask is passed on as it is.
local function fuse(ctx, s, q, k, v)
  local mask = masks.tensor(ctx.with.mask, s, ctx.precision)
  return ctx.mil:scaled_dot_product_attention { query = q, key = k, value = v, attn_mask = mask, name = "attention" }
end

-- Explicit: mul on q, matmul, [add mask,] softmax, matmul. A boolean mask becomes 0 and -30000, as the converter writes it.
function attn.explicit(ctx)
  local s, q, k, v = projections(ctx)
  return spell_out(ctx, s, q, k, v, masks.additive(ctx.with.mask, s, ctx.precision, -30000))
end

-- Fused: one scaled_dot_product_attention between the projections and the output.
function attn.fused(ctx)
  local s, q, k, v = projections(ctx)
  return fuse(ctx, s, q, k, v)
end

-- A third control: the explicit attention without a softmax op, which no runtime's pattern matches. The largest score is taken away and
-- the sum is divided out after the product with v, so nothing is normalised in between.
function attn.unfusable(ctx)
  local s, q, k, v = projections(ctx)
  local m = ctx.mil
  local scores = m:matmul { x = m:mul { x = q, y = 1 / math.sqrt(s.E), name = "q_scaled" }, y = k, transpose_y = true, name = "scores" }
  local mask = masks.additive(ctx.with.mask, s, ctx.precision, -30000)
  if mask then scores = m:add { x = scores, y = mask, name = "scores_masked" } end
  local shifted = m:sub { x = scores, y = m:reduce_max { x = scores, axes = { -1 }, keep_dims = true }, name = "scores_shifted" }
  local e = m:exp { x = shifted, name = "exponentials" }
  local total = m:reduce_sum { x = e, axes = { -1 }, keep_dims = true, name = "sums" }
  return m:real_div { x = m:matmul { x = e, y = v, name = "weighted" }, y = total, name = "attention" }
end

-- The intent, for `reference { program = attn.oracle, with = ... }`: masked keys take no part at all.
function attn.oracle(ctx)
  local s, q, k, v = projections(ctx)
  return spell_out(ctx, s, q, k, v, masks.additive(ctx.with.mask, s, ctx.precision, -math.huge))
end

-- q, k, v as inputs, both spellings.
function attn.explicit_qkv_inputs(ctx)
  local s, q, k, v = qkv_inputs(ctx)
  return spell_out(ctx, s, q, k, v, masks.additive(ctx.with.mask, s, ctx.precision, -30000))
end

function attn.fused_qkv_inputs(ctx)
  local s, q, k, v = qkv_inputs(ctx)
  return fuse(ctx, s, q, k, v)
end

-- Fused, with the attention exposed and, as a second output, the residual sum `block` that a reader would look at first.
function attn.residual_exposed(ctx)
  local m = ctx.mil
  local s, q, k, v, x = projections(ctx)
  local out = fuse(ctx, s, q, k, v)
  local merged = m:transpose { x = out, perm = { 0, 2, 1, 3 }, name = "merged_heads" }
  merged = m:reshape { x = merged, shape = { s.B, s.S, s.H * s.E }, name = "merged" }
  return { out, m:add { x = x, y = merged, name = "block" } }
end

-- Chunk sizes of the sliced-Q pass: n // divider each, the first n % divider one longer.
local function chunks(n, divider)
  local size, longer = math.max(n // divider, 1), n % divider
  local list, start = {}, 0
  while start < n do
    local stop = math.min(start + size + (#list < longer and 1 or 0), n)
    list[#list + 1] = { start, stop }
    start = stop
  end
  return list
end

-- Sliced-Q: the query in `with.divider` chunks (default 16), scale after the product, results concatenated one by one.
function attn.sliced_q(ctx)
  local m = ctx.mil
  local s, q, k, v = projections(ctx)
  local mask = masks.additive(ctx.with.mask, s, ctx.precision, -math.huge)
  local out
  for i, c in ipairs(chunks(s.S, ctx.with.divider or 16)) do
    local tag = ("_%d"):format(i)
    local part = m:slice_by_index { x = q, begin = { 0, 0, c[1], 0 }, ["end"] = { s.B, s.H, c[2], s.E }, end_mask = { true, true, false, true }, name = "q" .. tag }
    local scores = m:matmul { x = part, y = k, transpose_y = true, name = "scores" .. tag }
    scores = m:mul { x = scores, y = 1 / math.sqrt(s.E), name = "scaled" .. tag }
    if mask then
      local rows = mask.shape[#mask.shape - 1]
      scores = m:add { x = scores, y = rows == 1 and mask or mask:slice(-2, c[1], c[2] - c[1]):copy(), name = "masked" .. tag }
    end
    local weights = m:softmax { x = scores, axis = -1, name = "probabilities" .. tag }
    local chunk = m:matmul { x = weights, y = v, name = "chunk" .. tag }
    out = m:concat { values = out and { out, chunk } or { chunk }, axis = -2, interleave = false, name = c[2] == s.S and "attention" or "joined" .. tag }
  end
  return out
end

-- Per-head spelling for the Neural Engine: channels first, 1x1 convolutions, heads apart, einsum products with keys first.
function attn.conv_einsum(ctx)
  local m, w, s = ctx.mil, ctx.weights, sizes(ctx)
  local x = m:input("x", ctx.shapes.x)
  x = m:expand_dims { x = m:transpose { x = x, perm = { 0, 2, 1 }, name = "x_channels" }, axes = { 2 }, name = "x_bc1s" }
  local function conv(weight, bias, name)
    return m:conv { x = x, weight = weight:reshape { s.H * s.E, s.D, 1, 1 }, bias = bias, strides = { 1, 1 }, pad_type = "valid", pad = { 0, 0, 0, 0 },
                    dilations = { 1, 1 }, groups = 1, name = name }
  end
  local function heads(y, axis, name)
    if s.H == 1 then return { y } end
    return { m:split { x = y, axis = axis, num_splits = s.H, name = name } }
  end
  local q = heads(conv(w.q, w.bq, "q_conv"), 1, "q_head")
  local k = heads(m:transpose { x = conv(w.k, w.bk, "k_conv"), perm = { 0, 3, 2, 1 }, name = "k_t" }, 3, "k_head")
  local v = heads(conv(w.v, w.bv, "v_conv"), 1, "v_head")
  local list = {}
  for h = 1, s.H do
    local tag = ("_%d"):format(h)
    local scores = m:einsum { values = { k[h], q[h] }, equation = "bkhc,bchq->bkhq", name = "scores" .. tag }
    scores = m:mul { x = scores, y = 1 / math.sqrt(s.E), name = "scaled" .. tag }
    local weights = m:softmax { x = scores, axis = 1, name = "probabilities" .. tag }
    list[h] = m:einsum { values = { v[h], weights }, equation = "bchk,bkhq->bchq", name = "head" .. tag }
  end
  local joined = m:concat { values = list, axis = 1, interleave = false, name = "joined" }
  joined = m:reshape { x = joined, shape = { s.B, s.H, s.E, s.S }, name = "heads_apart" }
  return m:transpose { x = joined, perm = { 0, 1, 3, 2 }, name = "attention" }
end

-- The outputs of all attentions of a program: fused ops, or the products behind a softmax.
local function attentions(m)
  local list = {}
  for _, op in ipairs(m:find "scaled_dot_product_attention") do list[#list + 1] = op.out end
  if #list > 0 then return list end
  for _, product in ipairs(m:find "matmul") do
    local weights = product:arg "x"
    if weights and weights.op and weights.op.type == "softmax" then list[#list + 1] = product.out end
  end
  return list
end

-- Mutation: the attention is multiplied by zero; the op stays, its result is dead.
function attn.zero_output(m)
  local list = attentions(m)
  if #list == 0 then error("zero_output: the program holds no attention", 0) end
  for _, out in ipairs(list) do
    m:after(out)
    m:replace(out, m:mul { x = out, y = 0, name = out.name .. "_dead" })
  end
end

-- Mutation: the scale is applied a second time, to q in front of the fused op.
function attn.double_scale(m)
  local list = m:find "scaled_dot_product_attention"
  if #list == 0 then error("double_scale: the program holds no fused attention", 0) end
  for _, op in ipairs(list) do
    local q = op:arg "query"
    m:after(q)
    m:replace(q, m:mul { x = q, y = 1 / math.sqrt(q.shape[#q.shape]), name = q.name .. "_scaled" })
  end
end

return attn
