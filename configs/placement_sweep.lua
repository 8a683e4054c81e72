-- Where does the placement of the fused op flip? The experiment once per point of tokens x heads x head width x type:
--   assay run configs/placement_sweep.lua --device m1-macos15.7.7
local attn, fx = require "assay.attention", require "assay.fixtures"

local opt = options {
  S = { "integer", default = 16, help = "tokens" },
  H = { "integer", default = 2, help = "heads" },
  Dh = { "integer", default = 16, help = "width of a head" },
  dtype = { "string", default = "fp16", help = "fp16 or fp32" },
}
local width = opt.H * opt.Dh

return experiment {
  name = "placement-sweep", opset = "iOS18", precision = opt.dtype, compute_units = "cpu_and_ne", stop = "never",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 1, opt.S, width }, heads = opt.H, head_dim = opt.Dh },
  seeds = { fixture = 0, order = 2 },
  sweep { axes = { S = { 16, 64 }, H = { 2, 8 }, Dh = { 16, 64 }, dtype = { "fp16", "fp32" } } },
  weights { recipe = fx.projections { label = "sweep", width = width, out = width, gain = 1 }, provenance = "synthetic" },
  reference { arm = "explicit", precision = "fp64" },
  fixture { name = "normal", inputs = { x = fx.seeded { label = "sweep/x", shape = { 1, opt.S, width }, scale = 1, dtype = opt.dtype } } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  gate { use = "placement", arm = "fused", op_of_interest = { "scaled_dot_product_attention", "linear" }, require_device = "NE" },
  gate { use = "parity", arm = "fused", cosine_min = 0.999 },
}
