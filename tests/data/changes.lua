-- Arms that keep to their declared change, and one that does not: a subtraction before the softmax that nobody asked for.
local attn, fx = require "assay.attention", require "assay.fixtures"

local function shifted(m)
  local scores = m:find "softmax"[1]:arg "x"
  m:after(scores)
  m:replace(scores, m:sub { x = scores, y = 0.5, name = "shifted" })
end

return experiment {
  name = "changes",
  shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  weights { recipe = fx.wset(256, 1) },
  fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "one_op", role = "negative", build = attn.fused,
        change = { "scaled_dot_product_attention", "matmul", "softmax", "mul" } },
  arm { name = "shifted", role = "negative", like = "explicit", rewrite = shifted, change = { "attention_spelling" } },
  arm { name = "misspelt", role = "negative", like = "explicit", rewrite = shifted, change = { "scale_positon" } },
  gate { use = "parity" },
}
