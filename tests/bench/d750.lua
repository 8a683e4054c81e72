-- The bench's programs: the arms of configs/whisper_d750.lua in fp32. Only planned (that writes the packages), never judged.
local attn, fx = require "assay.attention", require "assay.fixtures"

return experiment {
  name = "bench-d750", opset = "iOS18", precision = "fp32", compute_units = "cpu_only",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 750, 1280 }, heads = 20, head_dim = 64 },
  seeds = { fixture = 0, order = 1 },
  claim { id = "same", text = "both spellings compute one function", needs = { "parity" } },
  weights { recipe = fx.wset(1280, 1), provenance = "synthetic" },
  reference { arm = "explicit", precision = "fp64" },
  fixture { name = "normal", inputs = { x = fx.normal "d750" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },
  gate { use = "parity", arm = "fused", cosine_min = 0.9999 },
}
