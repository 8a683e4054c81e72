-- The masks experiment with a mutant that computes what its control does, and says so.
local mutants, surgery = require "assay.mutants", require "assay.surgery"
mutants.add("times_one", surgery.at("out", function(m, x) return m:mul { x = x, y = 1 } end))
local attn, fx, masks = require "assay.attention", require "assay.fixtures", require "assay.masks"
local with = { mask = masks.causal { kind = "bool" } }
return experiment {
  name = "masks", precision = "fp16", shapes = { x = { 1, 32, 64 }, heads = 4, head_dim = 16 },
  mutants = { "mask_ignored", "mask_inverted", "mask_added_as_0_and_1", "mask_sentinel_weak", "mask_transposed", "mask_strict", "mask_sees_next_key",
              "mask_one_key_short", "times_one" }, equivalent_mutants = { times_one = "one times the output" },
  mutation_score = 1,
  weights { recipe = fx.projections { label = "masks", width = 64, gain = 2.5 }, provenance = "synthetic" },
  fixture { name = "normal", inputs = { x = fx.seeded { label = "masks/x", shape = { 1, 32, 64 } } } },
  arm { name = "explicit", role = "control", build = attn.explicit, with = with },
  arm { name = "fused", role = "candidate", build = attn.fused, with = with, change = { "attention_spelling" } },
  gate { use = "dead_path", arm = "fused" },
  gate { use = "parity", arm = "fused", max_abs_factor_vs_control = 4 },
}
