-- Two finished packages: is the candidate fused, right, and built around the same projections as the control?
--   assay run configs/from_packages.lua --set candidate=A.mlpackage --set control=B.mlpackage [--set x=x.npy]
local attn, fx = require "assay.attention", require "assay.fixtures"

local opt = options {
  candidate = { "path", help = "package that is judged" },
  control = { "path", help = "package it is compared with" },
  x = { "path", default = "", help = "input x (.npy); default: seeded normal numbers of the declared types" },
}

local inputs = fx.package_inputs(opt.control)
if opt.x ~= "" then inputs.x = assay.npy(opt.x) end

return experiment {
  name = "from-packages",
  target = { framework = "coreml", unit = "NE" },

  claim { id = "fused", text = "the candidate is one fused SDPA", needs = { "conversion" } },
  claim { id = "right", text = "it computes the control's attention", needs = { "dead_path", "parity" } },

  reference { arm = "control", precision = "fp64" },
  fixture { name = "normal", inputs = inputs },

  arm { name = "control", role = "control", package = opt.control },
  arm { name = "candidate", role = "candidate", package = opt.candidate, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "candidate", mutate = attn.zero_output },

  gate { use = "conversion", arm = "candidate", require = { scaled_dot_product_attention = 1 }, forbid_in_control = { "scaled_dot_product_attention" } },
  gate { use = "dead_path", arm = "candidate" },
  gate { use = "parity", arm = "candidate", cosine_min = 0.9999, max_abs_factor_vs_control = 4 },
}
