-- Rules that compare a program with its configuration, and on what may be an input: a right and a wrong program for each.
local pair = require "rules_pair"
local T = {}

local function fused(heads, keys, size)
  return function(m)
    local q, kv = m:input("q", { 1, heads, 64, size }), m:input("kv", { 1, keys, 64, size })
    return m:scaled_dot_product_attention { query = q, key = kv, value = kv, name = "attention" }
  end
end

local function found(build, config)
  local list = {}
  for _, f in ipairs(pair.findings("gpu", build, nil, { config = config })) do
    if f.rule == "dims_from_config" then list[#list + 1] = f.message end
  end
  return table.concat(list, "; ")
end

local config = { hidden_size = 512, num_attention_heads = 8 }
pair.tested.dims_from_config = true

T.M174_yes_sizes_of_the_configuration = function()
  t.equal(found(fused(8, 8, 64), config), "")
  t.equal(found(fused(8, 8, 32), { num_attention_heads = 8, num_key_value_heads = 2, head_dim = 32, hidden_size = 512 }), "")
  t.equal(found(fused(4, 4, 32), nil), "")                       -- no configuration: nothing to compare with
  t.equal(found(fused(4, 4, 32), { vocab_size = 100 }), "")      -- one that does not say
end

T.M174_yes_one_head_of_a_loop_has_no_count = function() t.equal(found(fused(1, 1, 64), config), "") end

T.M174_no_another_size = function()
  t.equal(found(fused(8, 8, 80), config), "the head size is 80, the configuration says 64")
  t.equal(found(fused(12, 12, 64), config), "the number of query heads is 12, the configuration says 8; the number of key heads is 12, the configuration says 8")
end

-- ---- what may be an input
local function through_linear(lifted)
  return function(m)
    local x = m:input("x", { 1, 64, 64 })
    local weight = lifted and m:input("weight", { 64, 64 }) or pair.weight { 64, 64 }
    return m:linear { x = x, weight = weight, name = "projection" }
  end
end
pair.gpu.clean = through_linear(false)
pair.gpu(T, "inputs_are_data", "M188_both", { wrong = through_linear(true), says = { "main/weight", "the weight of projection is an input" } })

return T
