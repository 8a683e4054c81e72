-- A decoder with a read-only KV cache: the host's loop over chunks must equal one causal pass, and every known way of getting
-- the loop wrong must be seen. --set chunk=1 decodes token by token.
local decoder, fx, mutants = require "assay.decoder", require "assay.fixtures", require "assay.mutants"

local opt = options {
  chunk = { "integer", default = 8, help = "tokens of one call" },
  gain = { "number", default = 2.5, help = "weight gain: 1 flat, 2.5 peaked attention" },
}

local wrong = {}
for _, fault in ipairs(decoder.faults(opt.chunk)) do
  wrong[#wrong + 1] = arm { name = fault[1], role = "must_fail", build = decoder.loop, with = fault[2] }
  mutants.add_with("loop_" .. fault[1], "loop", fault[2])
end

return experiment {
  name = "decoder", opset = "iOS18", precision = "fp16",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 1, 72, 64 }, heads = 4, kv_heads = 2, head_dim = 16, chunk = opt.chunk, slots = 80 },

  claim { id = "right", text = "the host's loop computes causal attention", needs = { "parity", "decode_drift" } },

  weights { recipe = decoder.weights { label = "decoder", width = 64, heads = 4, kv_heads = 2, head_dim = 16, gain = opt.gain }, provenance = "synthetic" },
  reference { arm = "whole", precision = "fp64" },
  fixture { name = "normal", inputs = { x = fx.seeded { label = "decoder/x", shape = { 1, 72, 64 } } } },

  arm { name = "whole", role = "control", build = decoder.whole },
  arm { name = "loop", role = "candidate", build = decoder.loop, change = { "decode_loop" } },
  wrong,

  gate { use = "parity", step_axis = 2 },
  gate { use = "decode_drift", chunk = opt.chunk, snr_min_db = 40 },
}
