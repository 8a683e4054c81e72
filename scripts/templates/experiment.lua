-- NAME: what is claimed, what would refute it. Run: assay run NAME.lua
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "NAME", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  seeds = { fixture = 0, order = 1 },

  claim { id = "fused", text = "the candidate is one fused attention", needs = { "conversion" } },
  claim { id = "right", text = "it computes the control's attention", needs = { "dead_path", "parity" } },

  weights { recipe = fx.wset(256, 2.5), provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },

  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  -- If this arm survives, the experiment could not have told a dead attention from a live one: the run is then invalid.
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  gate { use = "conversion", arm = "fused", require = { scaled_dot_product_attention = 1 } },
  gate { use = "dead_path", arm = "fused" },
  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
}
