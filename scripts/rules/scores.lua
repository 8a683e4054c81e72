-- Attention spelled with products: which ops stand between the first product and the softmax, and which axis is which.
local flow = require "rules.flow"

local scores = {}

local products = flow.set { "matmul", "einsum" }

function scores.operands(op)
  if op.type == "einsum" then return op.lists.values and op.lists.values[1], op.lists.values and op.lists.values[2] end
  return op.args.x, op.args.y
end

local function is_product(op)
  if not products[op.type] then return false end
  local a, b = scores.operands(op)
  return a and b and not flow.source(a).static and not flow.source(b).static
end

local between = flow.set { "add", "sub", "mul", "real_div", "select", "cast", "concat", "identity", "clip", "maximum", "minimum" }

-- The product that v is made of, and the ops on the way (nearest to v first); nil when there is none. seen: what was tried.
local function product_behind(v, seen, depth)
  local op = v.op
  if not op or v.static or seen[op] or depth > 24 then return nil end
  if is_product(op) then return op, {} end
  seen[op] = true
  if not between[op.type] and not op.layout then return nil end
  for _, operand in ipairs(op.operands) do
    local product, path = product_behind(operand, seen, depth + 1)
    if product then
      table.insert(path, 1, op)
      return product, path
    end
  end
end

-- The axis (from 1) of `v` that the product `op` contracts; nil when it cannot be told.
local function contracted(op, v)
  local a, b = scores.operands(op)
  if op.type == "matmul" then
    local first = v == a
    local flip = flow.number(op, first and "transpose_x" or "transpose_y") == 1
    return (first ~= flip) and v.rank or v.rank - 1
  end
  local left, right, out = (flow.text(op, "equation") or ""):match "^(%w+),(%w+)%->(%w+)$"
  if not left then return nil end
  local mine, other = left, right
  if v == b and v ~= a then mine, other = right, left end
  for i = 1, #mine do
    local letter = mine:sub(i, i)
    if other:find(letter, 1, true) and not out:find(letter, 1, true) then return i end
  end
end

-- Goes forward from the probabilities to the second product, an axis in hand: the axis of the softmax's output that is contracted.
local function keys_axis(softmax)
  local v, map = softmax.out, nil
  for _ = 1, 8 do
    local op = v.users[1]
    if not op then return nil end
    if is_product(op) then
      local axis = contracted(op, v)
      return axis and (map and map[axis] or axis)
    end
    if op.type == "transpose" then
      local perm, before = flow.numbers(op, "perm"), map
      if not perm then return nil end
      map = {}
      for i, from in ipairs(perm) do
        local axis = from < 0 and from + #perm + 1 or from + 1
        map[i] = before and before[axis] or axis
      end
    elseif op.type ~= "cast" and op.type ~= "identity" and op.type ~= "split" and op.type ~= "slice_by_index" and op.type ~= "slice_by_size" then
      return nil
    end
    v = op.out
  end
end

local function normalised(op)
  local axis = flow.number(op, "axis") or -1
  return axis < 0 and axis + op.out.rank + 1 or axis + 1
end

-- { softmax, product, path, axis, keys }: axis is normalised over, keys is the one that the second product contracts (axes from 1;
-- nil: cannot be told). Found once for each function.
function scores.of(fn)
  return flow.once(fn, "scores", function()
    local list = {}
    for _, op in ipairs(flow.by_type(fn).softmax or {}) do
      local product, path = product_behind(op.args.x, {}, 0)
      if product then list[#list + 1] = { softmax = op, product = product, path = path, axis = normalised(op), keys = keys_axis(op) } end
    end
    return list
  end)
end

-- The query axis (from 1) of the scores: for a matmul the one beside the keys, for einsum the letter that only the query has.
function scores.query_axis(s)
  local rank = s.product.out.rank
  if not s.keys then return nil end
  if s.product.type == "matmul" then
    if s.keys ~= rank and s.keys ~= rank - 1 then return nil end
    return s.keys == rank and rank - 1 or rank
  end
  local left, right, out = (flow.text(s.product, "equation") or ""):match "^(%w+),(%w+)%->(%w+)$"
  if not left then return nil end
  local key_letter = out:sub(s.keys, s.keys)
  local query = left:find(key_letter, 1, true) and right or left
  local keys = query == left and right or left
  for i = 1, #out do
    local letter = out:sub(i, i)
    if query:find(letter, 1, true) and not keys:find(letter, 1, true) then return i end
  end
end

-- The constant behind a mask: itself, or what it was cut, cast or repeated from.
local carriers = flow.set { "cast", "tile", "slice_by_index", "slice_by_size", "concat", "split", "gather" }
function scores.constant(v)
  for _ = 1, 16 do
    if v.static then return v end
    if not v.op or not (v.op.layout or carriers[v.op.type]) then return nil end
    v = flow.data(v.op)
  end
end

-- What is added to the scores of attention s, or chosen in their stead: { value, op, scores }.
function scores.masks(s)
  local list, inner = {}, s.product.out
  for i = #s.path, 1, -1 do
    local op = s.path[i]
    if op.type == "add" or op.type == "select" then
      for _, v in ipairs(op.operands) do
        if v ~= inner then list[#list + 1] = { value = v, op = op, scores = inner } end
      end
    end
    inner = op.out
  end
  return list
end

-- Masks of a function, fused attention included (those have `query` instead of `scores`).
function scores.all_masks(fn)
  return flow.once(fn, "masks", function()
    local list = {}
    for _, s in ipairs(scores.of(fn)) do
      for _, mask in ipairs(scores.masks(s)) do
        mask.attention = s
        list[#list + 1] = mask
      end
    end
    for _, op in ipairs(flow.by_type(fn).scaled_dot_product_attention or {}) do
      if op.args.attn_mask then list[#list + 1] = { value = op.args.attn_mask, op = op, query = op.args.query } end
    end
    return list
  end)
end

return scores
