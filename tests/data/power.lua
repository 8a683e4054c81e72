-- For the tests: attention on seeded inputs; `flat` has scores that are all alike, `peaked` has not.
local attn, fx = require "assay.attention", require "assay.fixtures"
local opt = options {
  fixtures = { "string", default = "both", help = "flat, peaked or both" },
  value = { "string", default = "v", help = "name of the value tensor" },
}
local function with(name, scale)
  return fixture { name = name, inputs = { x = fx.seeded { label = "test/power/x", shape = { 2, 12, 32 }, scale = scale, dtype = "fp16" } } }
end
local list = {}
if opt.fixtures ~= "peaked" then list[1] = with("flat", 0.02) end
if opt.fixtures ~= "flat" then list[#list + 1] = with("peaked", 1) end
return experiment {
  name = "power", opset = "iOS18", precision = "fp16", shapes = { x = { 2, 12, 32 }, heads = 2 },
  claim { id = "right", text = "the fused arm computes the attention", needs = { "power", "parity" } },
  weights { recipe = fx.projections { label = "test/power", width = 32, gain = 2 }, provenance = "synthetic" },
  list,
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  gate { use = "power", value = opt.value },
  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
}
