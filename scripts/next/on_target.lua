-- The same questions on the target, every number stated so that the plan can be sealed; again for each OS build and chip it is to ship on
-- Next experiment after "@EXPERIMENT@" (plan @PLAN@), leaf @LEAF@. A stub: set the shapes, weights and fixtures of your own.
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "@NAME@", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  claim { id = "placed", text = "the fused op and its projections are placed on the unit", needs = { "placement" } },
  claim { id = "right", text = "the candidate computes the control's attention", needs = { "dead_path", "parity" } },
  claim { id = "faster", text = "32 layers gain at least 5 ms", needs = { "latency" } },
  reference { arm = "explicit", precision = "fp64" },
  weights { recipe = fx.wset(256, 2.5), provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "cpu_only", role = "negative", like = "fused", compute_units = "cpu_only" },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  gate { use = "conversion", arm = "fused", require = { scaled_dot_product_attention = 1 }, forbid_in_control = { "scaled_dot_product_attention" } },
  gate { use = "placement", arm = "fused", op_of_interest = { "scaled_dot_product_attention", "linear" } },
  gate { use = "dead_path", arm = "fused" },
  gate { use = "parity", arm = "fused", cosine_min = 0.9999, max_abs_factor_vs_control = 4 },
  gate { use = "latency", arm = "fused", layers = 32, min_prize_ms = 5, margin_ms = 0, gap_ms = 0 },
}
