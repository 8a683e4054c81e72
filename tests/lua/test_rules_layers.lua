-- Rules on convolutions and compressed weights: a right and a wrong program for each (see rules_pair.lua).
local pair = require "rules_pair"
local T = {}

-- One convolution on an image, [1, 8, 192, 192] in.
local function conv(o)
  return function(m)
    local spec = { ["in"] = 8, out = 8 }
    for k, v in pairs(o) do spec[k] = v end
    return m:resize_nearest_neighbor { x = pair.conv(m, m:input("x", { 1, 8, 192, 192 }), spec), target_size_height = 64, target_size_width = 64 }
  end
end
local k3 = { 3, 3 }

pair.ne(T, "stride_factors", "M121_both M129_both", { wrong = conv { kernel = k3, strides = { 11, 11 } }, right = conv { kernel = k3, strides = { 12, 12 } } })
pair.ne(T, "stride_mixed", "M122_both M129_both", { wrong = conv { kernel = k3, strides = { 2, 6 } }, right = conv { kernel = k3, strides = { 2, 4 } } })
pair.ne(T, "stride_unequal", "M123_both M129_both", { wrong = conv { kernel = k3, strides = { 8, 4 } }, right = conv { kernel = k3, strides = { 8, 8 } } })
pair.ne(T, "kernel_large", "M125_both M129_both", { wrong = conv { kernel = { 9, 9 } }, right = conv { kernel = { 7, 7 } }, says = { "kernel extent 9, for example 5 and 5" } })
pair.ne(T, "dilation_factors", "M127_both M129_both", { wrong = conv { kernel = k3, dilations = { 8, 8 } }, right = conv { kernel = k3, dilations = { 3, 3 } },
  says = { "dilation 8 = 2 x 2 x 2" } })

local function convs(between)
  return function(m)
    local y = pair.conv(m, m:input("x", { 1, 8, 64, 64 }), { ["in"] = 8, out = 8, kernel = k3 })
    return pair.conv(m, between(m, y), { ["in"] = 8, out = 8, kernel = k3, name = "second" })
  end
end
pair.ne(T, "conv_pair", "M126_both M129_both", { wrong = convs(function(_, y) return y end), right = convs(function(m, y) return m:relu { y } end) })

local function pool(stride, kernel)
  return function(m)
    local y = m:max_pool { x = m:input("x", { 1, 8, 192, 192 }), kernel_sizes = kernel or { 3, 3 }, strides = { stride, stride }, pad_type = "valid", pad = { 0, 0, 0, 0 },
      ceil_mode = false }
    return m:resize_nearest_neighbor { x = y, target_size_height = 64, target_size_width = 64 }
  end
end
pair.ne(T, "pool_stride", "M128_both M129_both", { wrong = pool(3), right = pool(2) })
T.M128_yes_a_pool_over_everything_takes_no_second_step = function() t.equal(#pair.findings("neural-engine", pool(192, { 192, 192 })), 0) end

-- M129: what needs training again is advice.
T.M129_yes_geometry_is_advice = function()
  local n = 0
  for _, r in ipairs(require "rules.convolutions") do
    for _, row in ipairs(r.rows) do
      local number = tonumber(row:sub(2))
      if number >= 121 and number <= 128 and number ~= 124 then
        t.equal(r.severity, "design")
        n = n + 1
      end
    end
  end
  t.equal(n, 7)
end

-- ---- compressed weights
-- A palettised kernel [out, in, ...] of 8 bits; `channel_scale` multiplies what it gives by one number a channel. The palette of a
-- rank-4 weight has six axes: the trap of M95.
local function palette(m, shape, o)
  o = o or {}
  local lut_shape, rank = {}, #shape
  for i = 1, rank do lut_shape[i] = 1 end
  lut_shape[rank + 1], lut_shape[rank + 2] = o.bits and 1 << o.bits or 256, 1
  local indices = o.bits and t.packed(m, "uint" .. o.bits, shape) or m:const(assay.full { value = 0, shape = shape, dtype = "uint8" })
  local w = m:constexpr_lut_to_dense { indices = indices, lut = pair.weight(lut_shape), name = "palette" }
  if not o.channel_scale then return w end
  local scale = {}
  for i = 1, rank do scale[i] = i == 1 and shape[1] or 1 end
  return m:constexpr_blockwise_shift_scale { data = w, scale = pair.weight(scale), name = "scaled_palette" }
end

local function linear_weight(m, shape, scale_shape)
  return m:constexpr_blockwise_shift_scale { data = m:const(assay.full { value = 1, shape = shape, dtype = "int8" }), scale = pair.weight(scale_shape), name = "quantised" }
end

local function layer(make, o)
  o = o or {}
  return function(m)
    local from = o["in"] or 64
    local x = m:input("x", { 1, from, 1, 64 })
    return pair.conv(m, x, { ["in"] = from, out = 64, weight = make(m, { 64, from, 1, 1 }), strides = o.strides, pad_type = "valid" })
  end
end

-- A weight of int8 that is itself a palette is refused by the op, so the scale stands on the palette: its table is quantised.
local function scaled_lut(m, shape)
  local lut_shape, scale = {}, {}
  for i = 1, #shape do lut_shape[i], scale[i] = i == 1 and shape[1] or 1, i == 1 and shape[1] or 1 end
  lut_shape[#shape + 1], lut_shape[#shape + 2], scale[#shape + 1], scale[#shape + 2] = 256, 1, 1, 1
  local lut = m:constexpr_blockwise_shift_scale { data = m:const(assay.full { value = 1, shape = lut_shape, dtype = "int8" }), scale = pair.weight(scale), name = "table_scale" }
  return m:constexpr_lut_to_dense { indices = m:const(assay.full { value = 0, shape = shape, dtype = "uint8" }), lut = lut, name = "palette" }
end

pair.ne(T, "palette_scale", "M97_both M207_both M234_both M252_both", { wrong = layer(scaled_lut), right = layer(palette), says = { "table_scale" } })
T.M252_yes_the_other_source_may_be_followed_by_name = function()
  t.equal(#pair.findings("neural-engine", layer(scaled_lut), { palette_scales = "session" }), 0)
  local recipe = pair.findings("neural-engine", layer(scaled_lut))[1]
  if not (recipe.way_out:find "recipe" and recipe.way_out:find "session") then error("the finding names one source only: " .. recipe.way_out, 0) end
end
T.M95_yes_a_palette_of_six_axes_is_a_constant = function() t.equal(#pair.findings("neural-engine", layer(palette)), 0) end
pair.ne(T, "palette_stride", "M124_both M215_both", {
  wrong = function(m)
    local x = m:input("x", { 1, 8, 64, 64 })
    return m:resize_nearest_neighbor { x = pair.conv(m, x, { ["in"] = 8, out = 8, weight = palette(m, { 8, 8, 3, 3 }), strides = { 4, 4 } }),
      target_size_height = 64, target_size_width = 64 }
  end,
  right = function(m)
    local x = m:input("x", { 1, 8, 32, 32 })
    return m:resize_nearest_neighbor { x = pair.conv(m, x, { ["in"] = 8, out = 8, weight = palette(m, { 8, 8, 3, 3 }), strides = { 2, 2 } }),
      target_size_height = 64, target_size_width = 64 }
  end,
})
pair.ne(T, "compression_granularity", "M91_both", {
  wrong = layer(function(m, shape) return linear_weight(m, shape, { 64, 2, 1, 1 }) end), right = layer(palette), says = { "blocks of [1, 32, 1, 1]" } })
T.M91_no_a_palette_of_three_bits = function()
  local found = pair.findings("neural-engine", layer(function(m, shape) return palette(m, shape, { bits = 3 }) end))
  t.equal(#found, 1)
  t.equal(found[1].rule, "compression_granularity")
end
pair.ne(T, "compression_family", "M91_both M195_both", {
  wrong = layer(function(m, shape) return linear_weight(m, shape, { 64, 1, 1, 1 }) end), right = layer(palette) })

local function gpu_layer(make)
  return function(m) return m:linear { x = m:input("x", { 1, 64, 64 }), weight = make(m, { 64, 64 }) } end
end
pair.gpu(T, "compression_family_gpu", "M91_both M195_both", {
  wrong = gpu_layer(palette), right = gpu_layer(function(m, shape) return linear_weight(m, shape, { 64, 2 }) end) })
pair.gpu(T, "compressed_sensitive", "M165_both M247_both", {
  wrong = function(m)
    return m:layer_norm { x = m:input("x", { 1, 64, 64 }), axes = { -1 }, gamma = linear_weight(m, { 64 }, { 1 }), epsilon = 1e-5 }
  end,
  right = function(m) return m:layer_norm { x = m:input("x", { 1, 64, 64 }), axes = { -1 }, gamma = pair.weight { 64 }, epsilon = 1e-5 } end,
})
pair.ne(T, "compression_bits", "M197_both", {
  wrong = layer(palette), right = layer(function(m, shape) return palette(m, shape, { bits = 4 }) end), facts = { bits = { main = 4 } } })
pair.ne(T, "palette_skipped", "M216_both", {
  wrong = function(m)
    local y = pair.conv1x1(m, m:input("x", { 1, 64, 1, 64 }), 64, 64, "skipped")
    return pair.conv(m, m:relu { y }, { ["in"] = 64, out = 64, weight = palette(m, { 64, 64, 1, 1 }), pad_type = "valid" })
  end,
  right = function(m)                                                   -- the head may stay out
    local y = pair.conv(m, m:input("x", { 1, 64, 1, 64 }), { ["in"] = 64, out = 64, weight = palette(m, { 64, 64, 1, 1 }), pad_type = "valid" })
    return pair.conv1x1(m, m:relu { y }, 64, 64, "head")
  end,
  says = { "main/skipped (conv)" },
})
pair.ne(T, "compression_bound", "M196_both", {
  wrong = function(m)
    return pair.conv(m, m:input("x", { 1, 8, 64, 64 }), { ["in"] = 8, out = 8, weight = palette(m, { 8, 8, 3, 3 }) })
  end,
  right = layer(palette),
  says = { "used 4096 times" },
})

-- Two functions, a large one and a small one.
local function two(small, large)
  return function(m)
    t.outputs(m, pair.conv(m, m:input("x", { 1, 64, 1, 64 }), { ["in"] = 64, out = 1024, weight = large and palette(m, { 1024, 64, 1, 1 }), pad_type = "valid" }))
    t.func(m, "detect")
    t.outputs(m, pair.conv(m, m:input("x", { 1, 64, 1, 64 }), { ["in"] = 64, out = 16, weight = small and palette(m, { 16, 64, 1, 1 }), pad_type = "valid" }))
  end
end
pair.ne(T, "compression_share", "M198_both", { wrong = two(true, false), right = two(false, true) })

local function experts(blocks)
  return function(m)
    local x = m:input("x", { 1, 4, 64, 64 })
    return m:matmul { x = x, y = linear_weight(m, { 1, 4, 64, 64 }, blocks) }
  end
end
pair.gpu(T, "expert_blocks", "M168_both M243_both", { wrong = experts { 1, 4, 2, 64 }, right = experts { 1, 4, 64, 2 }, says = { "blocks of [1, 1, 32, 1]" } })

return T
