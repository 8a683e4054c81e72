-- Trained attention on a real input: a layer of a text recogniser (8 heads of 15; the scale is no power of two), compared with
-- the output that an ONNX runtime gave for the same layer. The data is not part of the project: --set data=DIR names the folder
-- with the trained*.npy files.
local attn = require "assay.attention"

local opt = options {
  data = { "path", default = "../../shared/fixtures", help = "folder with trained0-x.npy, trained0-wqkv.npy, ..." },
  layer = { "integer", default = 0, help = "layer 0 or 1" },
}

local function file(name) return ("%s/trained%d-%s.npy"):format(opt.data, opt.layer, name) end

return experiment {
  name = "trained-ocr", opset = "iOS18", precision = "fp16",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 1, 200, 120 }, heads = 8, head_dim = 15 },

  claim { id = "fused", text = "the candidate is one fused SDPA", needs = { "conversion" } },
  claim { id = "right", text = "it computes what the trained layer computed in its own runtime", needs = { "dead_path", "parity" } },

  weights { recipe = { qkv = assay.npy(file "wqkv"), bqkv = assay.npy(file "bqkv") }, split = "qkv", provenance = "trained" },
  reference { file = file "runtime-out", framework = "onnxruntime, CPU, float32" },
  fixture { name = "line", inputs = { x = assay.npy(file "x") }, provenance = "trained" },

  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  gate { use = "conversion", arm = "fused", require = { scaled_dot_product_attention = 1 }, forbid_in_control = { "scaled_dot_product_attention" } },
  gate { use = "dead_path", arm = "fused" },
  gate { use = "parity", arm = "fused", cosine_min = 0.9999, max_abs_factor_vs_control = 4 },
}
