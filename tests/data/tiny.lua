-- The smallest experiment with a whole path: conversion and parity at [2, 30, 256]; for the tests of runs.
local attn, fx = require "assay.attention", require "assay.fixtures"

local opt = options { extra = { "string", default = "", help = "one more gate" } }
local more = {}
if opt.extra ~= "" then more[1] = gate { use = opt.extra } end

return experiment {
  name = "tiny", target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  claim { id = "right", text = "it computes the control's attention", needs = { "parity" } },
  weights { recipe = fx.wset(256, 1) },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },
  more,
  gate { use = "conversion", require = { scaled_dot_product_attention = 1 } },
  gate { use = "parity", max_abs_factor_vs_control = 4 },
}
