-- The main experiment in small: seconds to run. Same words, [2, 30, 256], four heads.
local attn, fx = require "assay.attention", require "assay.fixtures"

local opt = options {
  gain = { "number", default = 2.5, help = "weight gain: 1 flat, 2.5 peaked attention" },
  cut = { "string", default = "program", help = "reference: program or qkv" },
}

return experiment {
  name = "mini", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  seeds = { fixture = 0, order = 2 },

  claim { id = "fused", text = "the candidate is one fused SDPA", needs = { "conversion" } },
  claim { id = "right", text = "it computes the control's attention", needs = { "dead_path", "parity", "sensitivity" } },

  weights { recipe = fx.wset(256, opt.gain), provenance = "synthetic" },
  reference { arm = "explicit", precision = "fp64", cut = opt.cut },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },

  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "cpu_only", role = "negative", like = "fused", compute_units = "cpu_only" },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  gate { use = "conversion", arm = "fused", require = { scaled_dot_product_attention = 1 }, forbid_in_control = { "scaled_dot_product_attention" } },
  gate { use = "dead_path", arm = "fused" },
  gate { use = "parity", arm = "fused", cosine_min = 0.9999, max_abs_factor_vs_control = 4 },
  gate { use = "sensitivity", arm = "fused", token = { batch = 1, position = 20 } },
}
