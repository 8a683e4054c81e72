-- Is it the program or the unit? The same package under CPU-only, and the explicit arm, on the same machine and build
-- Next experiment after "@EXPERIMENT@" (plan @PLAN@), leaf @LEAF@. A stub: set the shapes, weights and fixtures of your own.
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "@NAME@", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  claim { id = "program", text = "the package is right where no unit is asked for", needs = { "dead_path", "parity" } },
  weights { recipe = fx.wset(256, 2.5), provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "cpu_only", role = "negative", like = "fused", compute_units = "cpu_only" },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  gate { use = "dead_path", arm = "cpu_only" },
  gate { use = "parity", arm = "cpu_only", max_abs_factor_vs_control = 4 },
  gate { use = "dead_path", arm = "fused" },
}
