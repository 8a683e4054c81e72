-- Is it faster? More processes and blocks than before, decided before the first of them is measured, on a quiet machine
-- Next experiment after "@EXPERIMENT@" (plan @PLAN@), leaf @LEAF@. A stub: set the shapes, weights and fixtures of your own.
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "@NAME@", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  claim { id = "faster", text = "32 layers gain at least 5 ms", needs = { "parity", "latency" } },
  weights { recipe = fx.wset(256, 2.5), provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
  gate { use = "latency", arm = "fused", processes = 10, blocks = 40, layers = 32, min_prize_ms = 5, margin_ms = 0, gap_ms = 0 },
}
