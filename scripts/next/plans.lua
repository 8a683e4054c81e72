-- Where does each op run? Plans of both arms, asked of the compiled folders with the models kept alive, and attached
-- Next experiment after "@EXPERIMENT@" (plan @PLAN@), leaf @LEAF@. A stub: set the shapes, weights and fixtures of your own.
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "@NAME@", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  claim { id = "placed", text = "the fused op and its projections are placed on the unit", needs = { "placement" } },
  weights { recipe = fx.wset(256, 2.5), provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  record { name = "plan", arm = "explicit", file = "explicit-plan.json" },
  record { name = "plan", arm = "fused", file = "fused-plan.json" },

  gate { use = "placement", arm = "fused", op_of_interest = { "scaled_dot_product_attention", "linear" } },
  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
}
