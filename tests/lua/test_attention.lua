-- The attention library builds what the converter's contract says.
local attn, fx, masks = require "assay.attention", require "assay.fixtures", require "assay.masks"
local T = {}

local shapes = { x = { 2, 16, 32 }, heads = 2, head_dim = 16 }
local recipes = fx.projections { label = "test", width = 32 }
local weights = {}
for k, r in pairs(recipes) do weights[k] = r:tensor() end

-- The program of a build function; ops in order, constants and the like left out.
local function build(fn, with)
  local m = t.mil()
  local out = fn { mil = m, shapes = shapes, weights = weights, with = with or {}, precision = "fp16", opset = "iOS18" }
  if type(out) == "table" then t.outputs(m, table.unpack(out)) else t.outputs(m, out) end
  local types = {}
  for _, op in ipairs(m:find()) do
    if op.type ~= "const" then types[#types + 1] = op.type end
  end
  return m, table.concat(types, " ")
end

local front = ("linear reshape transpose "):rep(3)

function T.explicit_scales_q_before_the_product()
  local m, ops = build(attn.explicit)
  t.equal(ops, front .. "mul matmul softmax matmul")
  local mul = m:find("mul")[1]
  t.equal(mul:arg("x").name, "q")
  t.equal(mul:const("y"):at(), 0.25)
  local scores = m:find("matmul")[1]
  t.equal(scores:arg("y").name, "k")
  t.equal(scores:const("transpose_y"):at(), 1)
  t.equal(m:find("softmax")[1]:const("axis"):at(), -1)
  t.equal(m:find("matmul")[2]:arg("y").name, "v")
  local out = m:outputs()[1]
  t.equal(out.name, "attention")
  t.equal(table.concat(out.shape, ","), "2,2,16,16")
  t.equal(out.dtype, "fp16")
  t.equal(table.concat(m:value("q").shape, ","), "2,2,16,16")
  t.equal(table.concat(m:find("linear")[1]:const("weight").shape, ","), "32,32")
  t.equal(m:find("linear")[1]:const("weight").dtype, "fp16")
end

function T.fused_is_one_op()
  local m, ops = build(attn.fused)
  t.equal(ops, front .. "scaled_dot_product_attention")
  t.equal(m:find("scaled_dot_product_attention")[1]:arg("query").name, "q")
end

function T.k_has_no_bias()
  local m = build(attn.fused)
  t.ok(m:find("linear")[1]:const "bias")
  t.equal(m:find("linear")[2]:const "bias", nil)
end

function T.masks_reach_the_op_as_they_are()
  local m = build(attn.fused, { mask = masks.key_padding { valid = 12, kind = "bool" } })
  local mask = m:find("scaled_dot_product_attention")[1]:const "attn_mask"
  t.equal(mask.dtype, "bool")
  t.equal(table.concat(mask.shape, ","), "1,1,1,16")
  t.equal(mask:sum(), 12)
  m = build(attn.fused, { mask = masks.causal { kind = "float_neginf" } })
  mask = m:find("scaled_dot_product_attention")[1]:const "attn_mask"
  t.equal(mask.dtype, "fp16")
  t.equal(mask:at(0, 0, 3, 3), 0)
  t.equal(mask:at(0, 0, 3, 4), -math.huge)
end

function T.explicit_adds_its_mask()
  local m, ops = build(attn.explicit, { mask = masks.key_padding { valid = { 16, 4 }, kind = "bool" } })
  t.equal(ops, front .. "mul matmul add softmax matmul")
  local mask = m:find("add")[1]:const "y"
  t.equal(table.concat(mask.shape, ","), "2,1,1,16")
  t.equal(mask:at(1, 0, 0, 4), -30000)
  t.equal(mask:at(0, 0, 0, 15), 0)
end

function T.oracle_excludes_masked_keys()
  local m = build(attn.oracle, { mask = masks.key_padding { valid = 12 } })
  t.equal(m:find("add")[1]:const("y"):at(0, 0, 0, 12), -math.huge)
end

function T.sliced_q_has_a_chain_of_concats()
  local _, ops = build(attn.sliced_q, { divider = 3 })
  t.equal(ops, front .. ("slice_by_index matmul mul softmax matmul concat "):rep(3):sub(1, -2))
end

function T.sliced_q_slices_a_mask_with_rows()
  local m = build(attn.sliced_q, { divider = 4, mask = masks.causal { kind = "float_finite" } })
  t.equal(table.concat(m:find("add")[2]:const("y").shape, ","), "1,1,4,16")
  t.equal(m:outputs()[1].name, "attention")
end

function T.conv_einsum_has_heads_apart()
  local m = build(attn.conv_einsum)
  t.equal(#m:find "einsum", 4)
  t.equal(#m:find "conv", 3)
  t.equal(table.concat(m:outputs()[1].shape, ","), "2,2,16,16")
end

function T.qkv_inputs_have_no_projection()
  local m, ops = build(attn.fused_qkv_inputs)
  t.equal(ops, "scaled_dot_product_attention")
  t.equal(#m:inputs(), 3)
  local _, explicit = build(attn.explicit_qkv_inputs)
  t.equal(explicit, "mul matmul softmax matmul")
end

function T.residual_exposed_shows_both()
  local m = build(attn.residual_exposed)
  t.equal(#m:outputs(), 2)
  t.equal(m:outputs()[1].name, "attention")
  t.equal(m:outputs()[2].name, "block")
end

function T.zero_output_keeps_the_op_and_the_name()
  local m = build(attn.fused)
  attn.zero_output(m)
  t.equal(#m:find "scaled_dot_product_attention", 1)
  t.equal(m:outputs()[1].name, "attention")
  t.equal(m:outputs()[1].op.type, "mul")
  m = build(attn.explicit)
  attn.zero_output(m)
  t.equal(m:outputs()[1].op.type, "mul")
  m = t.mil()
  t.outputs(m, m:relu { m:input("x", { 2, 3 }) })
  t.fails(function() attn.zero_output(m) end, "the program holds no attention")
end

function T.double_scale_stands_before_the_op()
  local m = build(attn.fused)
  attn.double_scale(m)
  t.equal(m:find("scaled_dot_product_attention")[1]:arg("query").op.type, "mul")
end

-- Shapes of query, key, value and output of the fused arm at the width of the report's encoder.
local function probe(tokens)
  local m, w = t.mil(), assay.full({ shape = { 1280, 1280 }, dtype = "fp16" }):tensor()
  t.outputs(m, attn.fused { mil = m, shapes = { x = { 2, tokens, 1280 }, heads = 20, head_dim = 64 }, weights = { q = w, k = w, v = w }, with = {},
                            precision = "fp16", opset = "iOS18" })
  local op, list = m:find("scaled_dot_product_attention")[1], {}
  for i, name in ipairs { "query", "key", "value" } do list[i] = table.concat(op:arg(name).shape, ",") end
  return table.concat(list, " ") .. " " .. table.concat(m:outputs()[1].shape, ",")
end

-- 1500 positions in two halves on the batch axis, 20 heads of 64.
function T.M14_yes_the_probe_of_the_report()
  t.equal(probe(750), "2,20,750,64 2,20,750,64 2,20,750,64 2,20,750,64")
end

function T.missing_shapes_are_said()
  t.fails(function() attn.fused { shapes = {}, mil = t.mil(), weights = weights, with = {} } end, "shapes.x = { batch, tokens, width } is needed")
end

return T
