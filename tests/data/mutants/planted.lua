-- A candidate with a planted fault, and the diagnosis that should name it after the kill.
local attn, fx, mutants, surgery = require "assay.attention", require "assay.fixtures", require "assay.mutants", require "assay.surgery"

local opt = options { fault = { "string", default = "scale_twice", help = "scale_twice, none, or unknown (a fault that no mutant has)" } }

local faults = {
  scale_twice = attn.double_scale,
  none = function() end,
  unknown = surgery.at("out", function(m, x) return m:abs { x = x } end),
}

return experiment {
  name = "planted", precision = "fp16", shapes = { x = { 2, 16, 64 }, heads = 4, head_dim = 16 },
  mutants = { "zero_output", "scale_twice", "scale_missing", "uniform_attention", "heads_rotated" },
  weights { recipe = fx.projections { label = "planted", width = 64, gain = 2.5 }, provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.seeded { label = "planted/x", shape = { 2, 16, 64 } } } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, mutate = faults[opt.fault], change = { "attention_spelling" } },
  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
  mutants.diagnosis { arm = "fused", control = "explicit", mutants = { "zero_output", "scale_twice", "scale_missing", "uniform_attention", "heads_rotated" } },
}
