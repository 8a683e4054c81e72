-- A two-layer perceptron: what the mutants of activations are tried on.
local fx = require "assay.fixtures"

local function build(ctx)
  local m = ctx.mil
  local function layer(x, label, out, width)
    return m:linear { x = x, weight = assay.normal({ label = label, shape = { out, width }, scale = 1 / math.sqrt(width), dtype = "fp16" }):tensor() }
  end
  local hidden = m:gelu { x = layer(m:input("x", { 1, 16, 32 }), "mlp/up", 64, 32), mode = "EXACT" }
  return layer(hidden, "mlp/down", 32, 64)
end

return experiment {
  name = "activation", precision = "fp16",
  fixture { name = "normal", inputs = { x = fx.seeded { label = "mlp/x", shape = { 1, 16, 32 } } } },
  arm { name = "plain", role = "control", build = build },
  arm { name = "same", role = "candidate", like = "plain" },
  gate { use = "parity", arm = "same", max_abs_factor_vs_control = 4 },
}
