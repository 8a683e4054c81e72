-- Geometry of convolutions and pools. Changing it means training again, so these are advice for whoever designs the model (M129).
local flow = require "rules.flow"

local NE = { "neural-engine" }
local convs = { "conv", "conv_transpose" }
local pools = { "max_pool", "avg_pool", "l2_pool" }
local beside_two = flow.set { 1, 2, 3, 4, 8, 9 }

-- The two strides in ascending order; one for a 1-D convolution counts twice.
local function strides(op)
  local s = flow.numbers(op, "strides")
  if not s or #s > 2 then return nil end
  local a, b = s[1], s[2] or s[1]
  return math.min(a, b), math.max(a, b)
end

local function factors(n)
  local list = {}
  for _, p in ipairs { 2, 3 } do
    while n % p == 0 do n, list[#list + 1] = n // p, p end
  end
  return n == 1 and table.concat(list, " x ") or nil
end

local function spatial_size(v) return flow.product(v.shape, 3) end

local function is_global(op) return op.out.rank > 2 and spatial_size(op.out) == 1 end

return {
  { id = "stride_factors", rows = { "M121", "M129" }, severity = "design", profiles = NE, sources = { "guide 4.9" },
    summary = "equal strides above 2 have no prime factors but 2 and 3",
    way_out = "use 4, 6, 8, 9, 12, 16, 24 or 32",
    exempt = { "3, 18 and what is above 32: not in the guide's list, but they factor as the guide asks" },
    each = "op", ops = convs,
    check = function(op, say)
      local a, b = strides(op)
      if a and a == b and not factors(a) then say(("stride %d"):format(a)) end
    end },

  { id = "stride_mixed", rows = { "M122", "M129" }, severity = "design", profiles = NE, sources = { "guide 4.9" },
    summary = "beside a stride of 2 the other is 3, 4, 8 or 9",
    way_out = "make the other stride 3, 4, 8 or 9, or both equal",
    exempt = { "a stride of 1, which does not stride" },
    each = "op", ops = convs,
    check = function(op, say)
      local a, b = strides(op)
      if a and a == 2 and not beside_two[b] then say(("strides 2 and %d"):format(b)) end
    end },

  { id = "stride_unequal", rows = { "M123", "M129" }, severity = "design", profiles = NE, sources = { "guide 4.9" },
    summary = "large strides are equal",
    way_out = "make them equal, or one of them 2",
    each = "op", ops = convs,
    check = function(op, say)
      local a, b = strides(op)
      if a and a > 2 and a ~= b then say(("strides %d and %d"):format(a, b)) end
    end },

  { id = "palette_stride", rows = { "M124", "M215" }, severity = "warning", profiles = NE, sources = { "guide 4.9", "guide 10 row 14" },
    summary = "a palettised convolution strides by 2 at most",
    way_out = "leave this layer out of the palettisation",
    each = "op", ops = convs,
    check = function(op, say)
      local _, b = strides(op)
      local packed = flow.compression(op.args.weight)
      if b and b > 2 and packed and packed.type:find "lut" then say(("stride %d with a palettised kernel"):format(b)) end
    end },

  { id = "kernel_large", rows = { "M125", "M129" }, severity = "design", profiles = NE, sources = { "guide 4.9" },
    summary = "no large kernels",
    way_out = "two kernels k1 and k2 in a row see as far when k = k1 + k2 - 1",
    exempt = { "extents up to the parameter kernel_max (8: the guide gives no limit, its own bad example is 9)",
      "kernels that cover their whole input: a layer of weights, not a filter" },
    each = "op", ops = convs,
    check = function(op, say, cx)
      local x = op.args.x
      for i, k in ipairs(flow.kernel(op)) do
        if k > cx.facts.kernel_max and x.shape[i + 2] ~= k then
          return say(("kernel extent %d, for example %d and %d"):format(k, (k + 2) // 2, (k + 1) - (k + 2) // 2))
        end
      end
    end },

  { id = "conv_pair", rows = { "M126", "M129" }, severity = "design", profiles = NE, sources = { "guide 4.9" },
    summary = "two convolutions with nothing between them could be one",
    way_out = "measure one kernel of k1 + k2 - 1 against the pair; the guide gives no threshold",
    exempt = { "a nonlinearity between them", "1x1 and grouped kernels (factored on purpose)", "results used elsewhere too", "strides and dilations" },
    each = "op", ops = { "conv" },
    check = function(op, say)
      local before = op.args.x.op
      if not before or before.type ~= "conv" or #before.out.users > 1 or before.out.output then return end
      for _, c in ipairs { op, before } do
        local _, stride = strides(c)
        local dilation = flow.numbers(c, "dilations")
        if flow.is_conv1x1(c) or (flow.number(c, "groups") or 1) > 1 or stride ~= 1 then return end
        for _, d in ipairs(dilation or {}) do
          if d > 1 then return end
        end
      end
      say(("directly behind %s"):format(before.name))
    end },

  { id = "dilation_factors", rows = { "M127", "M129" }, severity = "design", profiles = NE, sources = { "guide 4.9" },
    summary = "a dilation is 2 or 3",
    way_out = "split it into convolutions with dilations 2 and 3, trained anew",
    each = "op", ops = convs,
    check = function(op, say)
      for _, d in ipairs(flow.numbers(op, "dilations") or {}) do
        if d > 3 then return say(("dilation %d%s"):format(d, factors(d) and " = " .. factors(d) or ", which has other prime factors")) end
      end
    end },

  { id = "pool_stride", rows = { "M128", "M129" }, severity = "design", profiles = NE, sources = { "guide 4.9" },
    summary = "pools stride by 2 or 4",
    way_out = "choose 2 or 4",
    exempt = { "a stride of 1", "pools over the whole input, which take no second step" },
    each = "op", ops = pools,
    check = function(op, say)
      for _, s in ipairs(flow.numbers(op, "strides") or {}) do
        if s ~= 1 and s ~= 2 and s ~= 4 and not is_global(op) then return say(("stride %d"):format(s)) end
      end
    end },
}
