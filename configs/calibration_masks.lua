-- What wrong masks look like: causal attention [1, 8, 256, 64] on q, k, v as inputs, each fault of a mask as a mutant.
-- assay mutate configs/calibration_masks.lua --show psnr_db; --set gain=1 is flat attention (q and k as drawn).
local attn, fx, masks = require "assay.attention", require "assay.fixtures", require "assay.masks"

local opt = options { gain = { "number", default = 2.5, help = "factor on q and on k" } }

local shape = { 1, 8, 256, 64 }
local function input(name, scale) return fx.seeded { label = "c/" .. name, shape = shape, scale = scale } end
local with = { mask = masks.causal { kind = "bool" } }

return experiment {
  name = "calibration-masks", opset = "iOS18", precision = "fp16", shapes = { x = { 1, 256, 512 }, heads = 8, head_dim = 64 },
  mutants = { "mask_ignored", "mask_transposed", "mask_inverted", "mask_added_as_0_and_1", "mask_strict", "mask_sees_next_key", "mask_sentinel_weak" },
  mutation_score = 1,
  fixture { name = "causal", inputs = { q = input("q", opt.gain), k = input("k", opt.gain), v = input("v", 1) } },
  arm { name = "explicit", role = "control", build = attn.explicit_qkv_inputs, with = with },
  arm { name = "fused", role = "candidate", build = attn.fused_qkv_inputs, with = with, change = { "attention_spelling" } },
  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
}
