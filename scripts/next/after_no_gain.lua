-- An experiment that goes on after a gain was refuted cites it
-- Next experiment after "@EXPERIMENT@" (plan @PLAN@), leaf @LEAF@. A stub: set the shapes, weights and fixtures of your own.
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "@NAME@", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  prior { text = "@EXPERIMENT@ (plan @PLAN@): no gain", status = "firsthand", backend = "coreml" },
  claim { id = "right", text = "the new candidate computes the control's attention", needs = { "parity" } },
  weights { recipe = fx.wset(256, 2.5), provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
}
