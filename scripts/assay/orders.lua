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

-- The running sum rounded to fp16 after every term; the term itself too, unless the two are one fused step.
local function narrow_product(m, a, b, fused)
  local sum
  for i = 0, a.shape[#a.shape] - 1 do
    local x, y = surgery.part(m, a, #a.shape - 1, i, i + 1), surgery.part(m, b, #b.shape - 2, i, i + 1)
    if fused then
      local term = m:mul { x = wide(m, x), y = wide(m, y) }
      sum = half(m, sum and m:add { x = wide(m, sum), y = term } or term)
    else
      local term = m:mul { x = x, y = y }
      sum = sum and m:add { x = sum, y = term } or term
    end
  end
  return sum
end

-- The sum along the last axis, rounded to the program's type after every term; that axis stays with size 1.
function orders.narrow_sum(m, x)
  local axis, sum = #x.shape - 1, nil
  for i = 0, x.shape[axis + 1] - 1 do
    local term = surgery.part(m, x, axis, i, i + 1)
    sum = sum and m:add { x = sum, y = term } or term
  end
  return sum
end

local function narrow(m, s, c, fused)
  local scores = narrow_product(m, scaled(m, s.q, c), m:transpose { x = s.k, perm = { 0, 1, 3, 2 } }, fused)
  return narrow_product(m, softmax(m, scores), s.v, fused)
end

-- The scores in fp32, from fp16 operands.
local function wide_scores(m, s, c) return scaled(m, product(m, wide(m, s.q), wide(m, s.k), true), c) end

-- A number as fp16 keeps it.
local function rounded(x) return assay.tensor({ x }, { dtype = "fp16" }):at(0) end

local function both_stored(m, s, c) return product(m, half(m, softmax(m, wide(m, half(m, wide_scores(m, s, c))))), s.v) end

-- Each takes unscaled fp16 q, k, v and c = 1/sqrt(head size), and returns the attention in fp16.
local kinds = {
  nothing_stored = function(m, s, c) return half(m, product(m, softmax(m, wide_scores(m, s, c)), wide(m, s.v))) end,
  scores_stored = function(m, s, c) return half(m, product(m, softmax(m, wide(m, half(m, wide_scores(m, s, c)))), wide(m, s.v))) end,
  probabilities_stored = function(m, s, c) return product(m, half(m, softmax(m, wide_scores(m, s, c))), s.v) end,
  both_stored = both_stored,
  both_stored_fp16_scale = function(m, s, c) return both_stored(m, s, rounded(c)) end,
  unscaled_scores_stored = function(m, s, c) return product(m, softmax(m, scaled(m, product(m, s.q, s.k, true), c)), s.v) end,
  query_scaled = function(m, s, c) return product(m, softmax(m, product(m, scaled(m, s.q, c), s.k, true)), s.v) end,
  key_scaled = function(m, s, c) return product(m, softmax(m, product(m, s.q, scaled(m, s.k, c), true)), s.v) end,
  both_scaled = function(m, s, c)
    local root = math.sqrt(rounded(c))
    return product(m, softmax(m, product(m, scaled(m, s.q, root), scaled(m, s.k, root), true)), s.v)
  end,
  narrow_sums = function(m, s, c) return narrow(m, s, c, false) end,
  narrow_fused_sums = function(m, s, c) return narrow(m, s, c, true) end,
}

-- In this order they are tried and printed.
orders.names = { "nothing_stored", "scores_stored", "probabilities_stored", "both_stored", "both_stored_fp16_scale", "unscaled_scores_stored",
                 "query_scaled", "key_scaled", "both_scaled", "narrow_sums", "narrow_fused_sums" }

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

-- One arm for each order (or those named), made from the control. They model an arithmetic, so they run on the reference backend also
-- where the candidate runs on a device: there the unit would round them in its own way.
function orders.arms(control, names)
  local list = {}
  for _, name in ipairs(names or orders.names) do
    list[#list + 1] = arm { name = "order_" .. name, role = "mutant", like = control, rewrite = orders.rewrite(name), backend = "reference" }
  end
  return list
end

return orders
