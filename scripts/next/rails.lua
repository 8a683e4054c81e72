-- Did the unit draw power while the predictions ran? All records on one boot of one machine: docs/howto/attach-a-record.md
-- Next experiment after "@EXPERIMENT@" (plan @PLAN@), leaf @LEAF@. A stub: set the shapes, weights and fixtures of your own.
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "@NAME@", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  claim { id = "ran", text = "the predictions ran on the unit", needs = { "corroboration" } },
  weights { recipe = fx.wset(256, 2.5), provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  record { name = "rails", arm = "fused", file = "rails.txt" },
  record { name = "intervals", arm = "fused", file = "intervals.json" },
  record { name = "cpu_only", file = "cpu-only.txt" },
  record { name = "idle", file = "idle.txt" },
  record { name = "positive", file = "positive.txt" },
  record { name = "samplers", file = "samplers.txt" },

  gate { use = "corroboration", arm = "fused" },
  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
}
