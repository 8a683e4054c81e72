-- A small sweep of the placement of the fused op, for tests; configs/placement_sweep.lua is the whole one.
local attn, fx = require "assay.attention", require "assay.fixtures"
local opt = options { S = { "integer", default = 4 }, dtype = { "string", default = "fp16" } }
return experiment {
  name = "small-sweep", opset = "iOS18", precision = opt.dtype, compute_units = "cpu_and_ne", stop = "never",
  target = { framework = "coreml", unit = "NE" }, shapes = { x = { 1, opt.S, 64 }, heads = 2, head_dim = 32 },
  sweep { axes = { S = { 64, 4 }, dtype = { "fp16", "fp32" } } },
  weights { recipe = fx.projections { label = "sweep", width = 64, out = 64, gain = 1 } },
  reference { arm = "explicit", precision = "fp64" },
  fixture { name = "normal", inputs = { x = fx.seeded { label = "sweep/x", shape = { 1, opt.S, 64 }, scale = 1, dtype = opt.dtype } } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  gate { use = "placement", arm = "fused", op_of_interest = { "scaled_dot_product_attention" }, require_device = "NE" },
  gate { use = "parity", arm = "fused", cosine_min = 0.999 },
}
