-- The main experiment: the smallest physical falsifier of "Core ML's fused attention helps this encoder", whole.
-- One attention sub-layer of the source report's encoder at its real size, explicit against fused.
local attn, fx = require "assay.attention", require "assay.fixtures"

local opt = options {
  gain = { "number", default = 2.5, help = "weight gain: 1 flat, 2.5 peaked attention" },
  cut = { "string", default = "program", help = "reference: program or qkv" },
  fixtures = { "string", default = "stress silence speech", help = "names of those to use; silence alone is asked everything" },
}

-- Silence is there for finiteness and death; alone it is asked everything, and refused.
local known = {
  stress = { inputs = { x = fx.normal "d750" } },
  silence = { inputs = { x = fx.silence "d750" }, use = opt.fixtures ~= "silence" and { "finite", "dead" } or nil },
  speech = { inputs = { x = fx.speech "d750" }, provenance = "standin" },
}
local fixtures = {}
for name in opt.fixtures:gmatch "%S+" do
  local f = known[name] or error(("no fixture '%s'; known are stress, silence, speech"):format(name), 0)
  f.name = name
  fixtures[#fixtures + 1] = fixture(f)
end

return experiment {
  name = "whisper-d750", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = { x = { 2, 750, 1280 }, heads = 20, head_dim = 64 },
  seeds = { fixture = 0, order = 2 },
  -- What `assay mutate` must see killed; the mutants that need a mask or rotary positions do not fit here.
  mutants = { "zero_output", "constant_output", "sign_flipped", "output_doubled", "output_2_percent_high", "gain_high", "gain_low", "scale_twice",
              "scale_missing", "scale_of_model_width", "scale_3_percent_off", "uniform_attention", "q_k_swapped", "k_v_swapped", "softmax_over_queries",
              "heads_rotated", "heads_swapped", "heads_split_as_columns", "batch_swapped", "v_of_other_batch", "tokens_shifted", "keys_shifted",
              "one_head_zero", "half_of_heads_zero", "one_row_zero", "tail_tile_zero", "layout_misread", "channels_first_misread",
              "non_contiguous_read", "fp16_accumulation", "q_bias_dropped", "v_bias_dropped", "stale_first_run" },
  mutation_score = 1,

  claim { id = "fused", text = "the candidate is one fused SDPA", needs = { "conversion" } },
  claim { id = "placed", text = "it runs on the Neural Engine", needs = { "placement" } },
  claim { id = "right", text = "it computes the control's attention", needs = { "references", "dead_path", "power", "parity", "sensitivity" } },
  claim { id = "faster", text = "32 layers gain at least 5 ms", needs = { "latency" } },

  weights { recipe = fx.wset(1280, opt.gain), provenance = "synthetic" },
  reference { arm = "explicit", precision = "fp64", cut = opt.cut },
  fixtures,

  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused, change = { "attention_spelling" } },
  arm { name = "cpu_only", role = "negative", like = "fused", compute_units = "cpu_only" },
  arm { name = "dead", role = "must_fail", like = "fused", mutate = attn.zero_output },

  gate { use = "conversion", arm = "fused", require = { scaled_dot_product_attention = 1 }, forbid_in_control = { "scaled_dot_product_attention" } },
  gate { use = "placement", arm = "fused", op_of_interest = { "scaled_dot_product_attention", "linear" }, require_device = "NE" },
  gate { use = "dead_path", arm = "fused" },
  gate { use = "references" },
  gate { use = "power" },
  gate { use = "parity", arm = "fused", cosine_min = 0.9999, max_abs_factor_vs_control = 4 },
  gate { use = "sensitivity", arm = "fused", token = { batch = 1, position = 500 } },
  gate { use = "latency", arm = "fused", layers = 32, min_prize_ms = 5, margin_ms = 0, gap_ms = 0, max_blocks = 8000 },

  kill { gate = "latency", metric = "gain_ms_ci_low", at_most = 0, claim = "faster", why = "the interval includes zero" },
}
