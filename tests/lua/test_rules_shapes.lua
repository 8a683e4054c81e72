-- Rules on shapes, element types and structure: a right and a wrong program for each; exactly that rule fires on the wrong one.
local pair = require "rules_pair"
local T = {}

-- A clean program of the Neural Engine profile: one activation on [1, 64, 1, 64].
local function unary(shape, dtype)
  return function(m)
    local x = m:input("x", shape or { 1, 64, 1, 64 }, dtype)
    return m:relu { x, name = "y" }
  end
end
local clean = unary()
pair.ne.clean = clean
pair.gpu.clean = unary { 1, 64, 64 }

pair.ne(T, "rank_limit", "M95_both M96_both M226_both", {
  wrong = function(m)
    local x = m:input("x", { 1, 64, 1, 64 })
    local six = m:reshape { x = x, shape = { 1, 2, 2, 4, 4, 64 }, name = "windows" }
    return m:reshape { x = m:relu { six }, shape = { 1, 64, 1, 64 } }
  end,
  says = { "main/windows (reshape)", "rank 6 [1, 2, 2, 4, 4, 64]" },
})

pair.ne(T, "static_shapes", "M85_both M90_both", {
  wrong = function(m) return m:relu { t.input(m, "x", { 1, 64, 1, -1 }) } end,
  says = { "main/x", "[1, 64, 1, ?]" },
})

pair.ne(T, "io_last_axis_single", "M107_both M227_both", { wrong = unary { 1, 64, 64, 1 }, says = { "32 times the memory" } })
pair.ne(T, "io_last_axis_short", "M106_both M227_both", { wrong = unary { 1, 64, 1, 16 }, right = unary { 1, 64, 1, 32 }, says = { "32 bytes" } })
pair.ne(T, "io_last_axis_alignment", "M105_both M227_both", { wrong = unary { 1, 64, 1, 750 }, says = { "the next multiple of 64 is 768 elements" } })
-- The trap: 576 = 18 x 32 is the guide's own size.
pair.ne(T, "io_last_axis_power_of_two", "M108_both M227_both", { wrong = unary { 1, 64, 1, 96 }, right = unary { 1, 64, 1, 576 } })

-- The trap: the 1x1 convolution on [B*S, D, 1, 1] is the guide's own MLP.
local function folded(last)
  return function(m)
    local x = m:input("x", { 1, 64, 1, 64 })
    local inner = m:reshape { x = x, shape = { 64, 64, 1, 1 }, name = "folded" }
    local y = last(m, inner)
    return m:reshape { x = y, shape = { 1, 64, 1, 64 } }
  end
end
pair.ne(T, "inner_last_axis_single", "M107_both M109_both", {
  wrong = folded(function(m, v) return m:relu { v } end),
  right = folded(function(m, v) return pair.conv1x1(m, v, 64, 64) end),
})

pair.ne(T, "io_layout", "M80_both M89_both", { wrong = unary { 1, 64, 64 } })
pair.gpu(T, "io_layout_gpu", "M80_both M157_both", { wrong = unary { 1, 64, 1, 64 } })

-- ---- element types
local function in_fp32(part, boundary)
  return function(m)
    local x = m:input("x", { 1, 64, 1, 64 })
    local wide = m:cast { x = x, dtype = "fp32" }
    local y = m:cast { x = part(m, wide), dtype = "fp16" }
    return boundary and m:relu { y } or y
  end
end

pair.ne(T, "fp32_graph", "M84_both M98_both", {
  wrong = unary({ 1, 64, 1, 64 }, "fp32"),
  right = function(m)                                                  -- fp32 at the boundary only
    local x = m:input("x", { 1, 64, 1, 64 }, "fp32")
    local y = m:relu { m:cast { x = x, dtype = "fp16" } }
    return m:cast { x = y, dtype = "fp32" }
  end,
})
pair.ne(T, "fp32_constant", "M99_both M202_both M221_both", {
  wrong = in_fp32(function(m, v) return m:mul { v, 2.5, name = "scaled" } end),
  right = function(m) return m:mul { m:input("x", { 1, 64, 1, 64 }), 2.5 } end,
  says = { "main/scaled (mul)", "2.5" },
})
pair.ne(T, "silu_cast", "M101_both", {
  wrong = in_fp32(function(m, v) return m:silu { v } end),
  right = function(m)
    local x = m:input("x", { 1, 64, 1, 64 })
    return m:mul { x, m:sigmoid { x } }
  end,
})
T.M251_yes_silu_whole_or_as_a_product = function()
  t.equal(#pair.findings("neural-engine", function(m) return m:silu { m:input("x", { 1, 64, 1, 64 }) } end), 0)
end
pair.ne(T, "fp32_cast", "M102_both M223_both", { wrong = in_fp32(function(m, v) return m:exp { v } end) })
pair.ne(T, "integer_activation", "M98_both", {
  wrong = function(m)
    local x = m:input("x", { 1, 64, 1, 64 })
    local n = m:input("n", { 1 }, "int32")
    return m:mul { x, m:cast { x = m:add { n, 1 }, dtype = "fp16" } }
  end,
  right = function(m)                                                  -- the trap: int32 that only says where to look
    local x = m:input("x", { 1, 64, 1, 64 })
    local n = m:input("n", { 4 }, "int32")
    return m:slice_by_size { x = x, begin = m:add { n, 0 }, size = { 1, 64, 1, 64 } }
  end,
})

local function in_fp32_gpu(part)
  return function(m)
    local x = m:input("x", { 1, 64, 64 })
    return m:cast { x = part(m, m:cast { x = x, dtype = "fp32" }), dtype = "fp16" }
  end
end
pair.gpu(T, "fp32_intermediate", "M158_both", {
  wrong = in_fp32_gpu(function(m, v) return m:exp { v } end),
  right = in_fp32_gpu(function(m, v) return m:softmax { v, axis = -1 } end),
})
pair.gpu(T, "fp32_weights", "M84_both M158_both", {
  wrong = function(m) return m:linear { x = m:input("x", { 1, 64, 64 }, "fp32"), weight = pair.weight({ 64, 64 }, "fp32") } end,
  right = function(m) return m:linear { x = m:input("x", { 1, 64, 64 }), weight = pair.weight { 64, 64 } } end,
})

-- ---- structure. Ops that the builder cannot make (blocks, custom kernels, random ones) get their type afterwards.
local function renamed(build, type)
  return function(m)
    local y = build(m)
    t.outputs(m, y)
    t.rename(y.op, type)
  end
end
pair.ne(T, "control_flow", "M90_both M169_both", { wrong = renamed(clean, "while_loop") })
pair.gpu(T, "chunk_loop", "M169_both M244_both", { wrong = renamed(pair.gpu.clean, "while_loop") })
pair.ne(T, "custom_op", "M93_both", { wrong = renamed(clean, "coreai::metal_kernel") })
pair.ne(T, "training_leftover", "M170_both M245_both M246_both", { wrong = renamed(clean, "random_bernoulli") })
pair.gpu(T, "training_leftover", "M170_both M245_both M246_both", { wrong = renamed(pair.gpu.clean, "dropout") })

pair.ne(T, "model_size", "M92_both", {
  wrong = function(m) return pair.conv1x1(m, m:input("x", { 1, 64, 1, 64 }), 64, 64) end,
  right = function(m) return pair.conv1x1(m, m:input("x", { 1, 64, 1, 64 }), 64, 32) end,
  facts = { weight_limit_bytes = 8192 },
})
pair.ne(T, "hand_constraints", "M110_both", {
  wrong = function(m)
    t.metadata(m, "export", "HardwareConstraints(interleave=[8, 1, 1])")
    return clean(m)
  end,
})

return T
