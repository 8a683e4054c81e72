-- Orders of fp16 arithmetic: the same attention rounded at other places. The gate `attribution` asks which of them a candidate follows.
--   local orders = require "assay.orders"
--   orders.arms("explicit"), gate { use = "attribution", arm = "fused" }
local surgery = require "assay.surgery"

local orders = {}

local function half(m, x) return m:cast { x = x, dtype = "fp16" } end
local function wide(m, x) return m:cast { x = x, dtype = "fp32" } end
local function product(m, x, y, transposed) return m:matmul { x = x, y = y, transpose_y = transposed } end
local function softmax(m, x) return m:softmax { x = x, axis = -1 } end
local function scaled(m, x, c) return m:mul { x = x, y = c } end

-- The running sum rounded to fp16 after every term.
local function narrow_product(m, a, b)
  local sum
  for i = 0, a.shape[#a.shape] - 1 do
    local term = m:mul { x = surgery.part(m, a, #a.shape - 1, i, i + 1), y = surgery.part(m, b, #b.shape - 2, i, i + 1) }
    sum = sum and m:add { x = sum, y = term } or term
  end
  return sum
end

-- The scores in fp32, from fp16 operands.
local function wide_scores(m, s, c) return scaled(m, product(m, wide(m, s.q), wide(m, s.k), true), c) end

-- Each takes unscaled fp16 q, k, v and c = 1/sqrt(head size), and returns the attention in fp16.
local kinds = {
  nothing_stored = function(m, s, c) return half(m, product(m, softmax(m, wide_scores(m, s, c)), wide(m, s.v))) end,
  scores_stored = function(m, s, c) return half(m, product(m, softmax(m, wide(m, half(m, wide_scores(m, s, c)))), wide(m, s.v))) end,
  probabilities_stored = function(m, s, c) return product(m, half(m, softmax(m, wide_scores(m, s, c))), s.v) end,
  both_stored = function(m, s, c) return product(m, half(m, softmax(m, wide(m, half(m, wide_scores(m, s, c))))), s.v) end,
  unscaled_scores_stored = function(m, s, c) return product(m, softmax(m, scaled(m, product(m, s.q, s.k, true), c)), s.v) end,
  query_scaled = function(m, s, c) return product(m, softmax(m, product(m, scaled(m, s.q, c), s.k, true)), s.v) end,
  key_scaled = function(m, s, c) return product(m, softmax(m, product(m, s.q, scaled(m, s.k, c), true)), s.v) end,
  both_scaled = function(m, s, c)
    local root = math.sqrt(c)
    return product(m, softmax(m, product(m, scaled(m, s.q, root), scaled(m, s.k, root), true)), s.v)
  end,
  narrow_sums = function(m, s, c)
    local scores = narrow_product(m, scaled(m, s.q, c), m:transpose { x = s.k, perm = { 0, 1, 3, 2 } })
    return narrow_product(m, softmax(m, scores), s.v)
  end,
}

-- In this order they are tried and printed.
orders.names = { "nothing_stored", "scores_stored", "probabilities_stored", "both_stored", "unscaled_scores_stored", "query_scaled", "key_scaled", "both_scaled", "narrow_sums" }

-- What a constant scale in front of the query multiplies.
local function unscaled(q)
  local op = q.op
  return op and op.type == "mul" and op:const "y" and op:arg "x" or q
end

-- A rewrite of a program's attentions into one order; masks are not supported.
function orders.rewrite(name)
  local kind = kinds[name] or error(("orders: no order '%s'; known are %s"):format(name, table.concat(orders.names, ", ")), 2)
  return function(m)
    for _, s in ipairs(surgery.attentions(m)) do
      if s.mask then error("orders: the attention has a mask; attribute its arithmetic without one", 0) end
      m:at_end()
      local site = { q = unscaled(s.q), k = s.k, v = s.v }
      m:replace(s.out, kind(m, site, 1 / math.sqrt(site.q.shape[#site.q.shape])))
    end
  end
end

-- One arm for each order (or those named), made from the control: { name = "order_...", role = "negative" }.
function orders.arms(control, names)
  local list = {}
  for _, name in ipairs(names or orders.names) do
    list[#list + 1] = arm { name = "order_" .. name, role = "negative", like = control, rewrite = orders.rewrite(name) }
  end
  return list
end

return orders
