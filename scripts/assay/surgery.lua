-- Surgery on programs: finding attentions, masks, rotary positions and projections by data flow, and changing one value of each.
-- Used by the mutants; useful wherever a program is changed by what it computes and not by the names it gives.
local surgery = {}

-- What is bound to a parameter: a value, a constant as a tensor, or nil.
function surgery.operand(op, name) return op:arg(name) or op:const(name) end

-- The scores' own mask as numbers to add: a boolean one becomes 0 and -30000.
local function additive(m, mask)
  if mask.dtype ~= "bool" then return mask end
  return m:mul { x = m:sub { x = m:cast { x = mask, dtype = m.precision }, y = 1 }, y = 30000 }
end

-- Spells a fused attention out, so that its inside can be reached.
local function spell_out(m, op)
  local q, k, v = op:arg "query", op:arg "key", op:arg "value"
  m:after(op)
  local scores = m:matmul { x = m:mul { x = q, y = 1 / math.sqrt(q.shape[#q.shape]) }, y = k, transpose_y = true }
  local mask = surgery.operand(op, "attn_mask")
  if mask then scores = m:add { x = scores, y = additive(m, mask) } end
  m:replace(op.out, m:matmul { x = m:softmax { x = scores, axis = -1 }, y = v })
end

-- A product whose right side is rows of tokens [N, E]: `turned` says whether the product itself turns them. One that stands the
-- other way is spelled anew, so that all that follows meets one form.
local function rows_on_the_right(m, product, turned)
  local flag = product:const "transpose_y"
  if (flag ~= nil and flag:sum() ~= 0) == turned then return product end
  local y, perm = product:arg "y", {}
  for i = 1, #y.shape do perm[i] = i - 1 end
  perm[#perm], perm[#perm - 1] = perm[#perm - 1], perm[#perm]
  m:after(product)
  local spelled = m:matmul { x = product:arg "x", y = m:transpose { x = y, perm = perm }, transpose_y = turned }
  m:replace(product.out, spelled)
  return spelled.op
end

-- The attention whose probabilities `product` multiplies with v; nil when it is another product.
local function site_of(m, product)
  local weights = product:arg "x"
  local softmax = weights and weights.op
  if not softmax or softmax.type ~= "softmax" then return nil end
  product = rows_on_the_right(m, product, false)
  local site = { v = product:arg "y", weights = weights, softmax = softmax, out = product.out, logits = softmax:arg "x" }
  local at = site.logits
  while at and at.op and at.op.type ~= "matmul" do
    local mask = at.op.type == "add" and surgery.operand(at.op, "y")
    if mask and #mask.shape > 1 then site.mask, site.masked, site.unmasked = mask, at, at.op:arg "x" end
    at = at.op:arg "x"
  end
  if not at or not at.op then return nil end
  site.scores = rows_on_the_right(m, at.op, true).out
  if site.logits == at then site.logits = site.scores end
  if site.unmasked == at then site.unmasked = site.scores end
  site.q, site.k = site.scores.op:arg "x", site.scores.op:arg "y"
  return site
end

-- Every attention of a program: { q, k, v, scores, logits, weights, out, softmax, and with a mask: mask, unmasked, masked }.
-- q is what enters the product, so after a scale that is applied to it.
function surgery.attentions(m)
  for _, op in ipairs(m:find "scaled_dot_product_attention") do spell_out(m, op) end
  local list = {}
  for _, product in ipairs(m:find "matmul") do list[#list + 1] = site_of(m, product) end
  return list
end

-- The first op of a type behind a value, looking through what only moves or scales it.
local passes = { mul = true, reshape = true, transpose = true, cast = true }
function surgery.source(value, type)
  while value and value.op do
    if value.op.type == type then return value.op end
    if not passes[value.op.type] then return nil end
    value = value.op:arg "x"
  end
  return nil
end

-- Rotary positions in front of a value: x * cos + rotated(x) * sin gives { x, cos, sin, out }; nil when there are none.
function surgery.rotary(value)
  while value and value.op and passes[value.op.type] do value = value.op:arg "x" end
  if not value or not value.op or value.op.type ~= "add" then return nil end
  local straight, turned = value.op:arg "x", value.op:arg "y"
  if not (straight and turned and straight.op and turned.op and straight.op.type == "mul" and turned.op.type == "mul") then return nil end
  local joined = turned.op:arg "x"
  if not (joined and joined.op and joined.op.type == "concat") then return nil end
  return { x = straight.op:arg "x", cos = surgery.operand(straight.op, "y"), sin = surgery.operand(turned.op, "y"), out = value }
end

-- x[from .. to) along an axis (0-based).
function surgery.part(m, x, axis, from, to)
  local first, last = {}, {}
  for i, n in ipairs(x.shape) do first[i], last[i] = 0, n end
  first[axis + 1], last[axis + 1] = from, to
  return m:slice_by_index { x = x, begin = first, ["end"] = last }
end

function surgery.join(m, values, axis)
  if #values == 1 then return values[1] end
  return m:concat { values = values, axis = axis, interleave = false }
end

-- x with change(m, x[from .. to)) in that place.
function surgery.patched(m, x, axis, from, to, change)
  local n, values = x.shape[axis + 1], {}
  if from > 0 then values[#values + 1] = surgery.part(m, x, axis, 0, from) end
  values[#values + 1] = change(m, surgery.part(m, x, axis, from, to))
  if to < n then values[#values + 1] = surgery.part(m, x, axis, to, n) end
  return surgery.join(m, values, axis)
end

-- A change of the program that puts change(m, value, site) in the place of one value of every attention.
function surgery.at(name, change)
  return function(m)
    for _, site in ipairs(surgery.attentions(m)) do
      m:after(site[name])
      m:replace(site[name], change(m, site[name], site))
    end
  end
end

-- The last two inputs are of one type.
local function twin_inputs(m)
  local inputs = m:inputs()
  local a, b = inputs[#inputs - 1], inputs[#inputs]
  return a ~= nil and a.dtype == b.dtype and table.concat(a.shape, " ") == table.concat(b.shape, " ")
end

-- What a program has, for the mutants that need it: attention, batch, heads, mask, square_mask, rotary, q_bias, v_bias, activation,
-- inputs, twin_inputs.
function surgery.features(m)
  local has = { inputs = #m:inputs() > 0, twin_inputs = twin_inputs(m), activation = #m:find "gelu" + #m:find "silu" + #m:find "relu" > 0 }
  for _, site in ipairs(surgery.attentions(m)) do
    local rank, rotary = #site.out.shape, surgery.rotary(site.k)
    has.attention = true
    has.batch = has.batch or (rank == 4 and site.out.shape[1] > 1)
    has.heads = has.heads or (rank == 4 and site.out.shape[2] > 1)
    has.rotary = has.rotary or (rotary and surgery.rotary(site.q)) and true
    local mask = site.mask and site.mask.shape
    has.mask = has.mask or mask ~= nil
    has.square_mask = has.square_mask or (mask and mask[#mask] > 1 and mask[#mask] == mask[#mask - 1])
    local q, v = surgery.source(site.q, "linear"), surgery.source(site.v, "linear")
    has.q_bias = has.q_bias or (q and surgery.operand(q, "bias")) and true
    has.v_bias = has.v_bias or (v and surgery.operand(v, "bias")) and true
  end
  return has
end

return surgery
