-- Could these fixtures and gates have seen the fault? One fixture for each question, and a double scale that must fail beside the dead arm
-- Next experiment after "@EXPERIMENT@" (plan @PLAN@), leaf @LEAF@. A stub: set the shapes, weights and fixtures of your own.
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "@NAME@", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  claim { id = "seeing", text = "a wrong scale and a dead path are seen by these gates", needs = { "power", "parity" } },
  reference { arm = "explicit", precision = "fp64" },
  weights { recipe = fx.wset(256, 2.5), provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },
  arm { name = "twice", role = "must_fail", like = "fused", mutate = attn.double_scale },

  gate { use = "power" },
  gate { use = "dead_path", arm = "fused" },
  gate { use = "parity", arm = "fused", cosine_min = 0.9999, max_abs_factor_vs_control = 4 },
}
