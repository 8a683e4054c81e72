-- What errors look like: every fault of attention against the letters Z C P S R G M of the preset `calibration-4`, on four heads of the
-- main experiment. Run it with `assay mutate configs/calibration.lua --show letters --show psnr_db`; --set gain=1 is flat attention,
-- --set fixtures=seeded takes inputs and weights of another family (--set input=sink ...). docs/reference/calibration.md holds the tables.
--
-- The mutants are taken from the arm `exact`, whose attention is calculated in fp32 on the control's own fp16 q, k, v: a figure is then
-- the error itself and no rounding. `prek`, `split` and `fused` are correct in fp16 and must pass.
local attn, cal, fx, mutants = require "assay.attention", require "assay.calibration", require "assay.fixtures", require "assay.mutants"

local opt = options {
  gain = { "number", default = 2.5, help = "weight gain: 1 flat, 2.5 peaked attention" },
  fixtures = { "string", default = "normal hot-token silence speech", help = "fixtures of the table, or seeded" },
  input = { "string", default = "flat", help = "of the seeded family: flat, silence_like, hot or sink" },
}

local HEADS, MODEL = 4, 1280                     -- heads 0 to 3 of 20
local seeded = opt.fixtures == "seeded"

-- A spelling of our own on the control's q, k, v.
local function on_qkv(spell)
  return function(ctx)
    attn.explicit(cal.first_heads(ctx))
    local m = ctx.mil
    return spell(m, m:value "q", m:value "k", m:value "v")
  end
end

local function attention(m, q, k, v)
  local scores = m:matmul { x = q, y = k, transpose_y = true }
  return m:matmul { x = m:softmax { x = scores, axis = -1 }, y = v, name = "attention" }
end

local function wide(m, x) return m:cast { x = x, dtype = "fp32" } end

local exact = on_qkv(function(m, q, k, v) return attention(m, m:mul { x = wide(m, q), y = 0.125 }, wide(m, k), wide(m, v)) end)
local prek = on_qkv(function(m, q, k, v) return attention(m, q, m:mul { x = k, y = 0.125 }, v) end)
local split = on_qkv(function(m, q, k, v) return attention(m, m:mul { x = q, y = 0.125 ^ 0.5 }, m:mul { x = k, y = 0.125 ^ 0.5 }, v) end)

local list = {}
if seeded then list[1] = fixture { name = "seeded", inputs = { x = cal.input(opt.input) } } end
for name in (seeded and "" or opt.fixtures):gmatch "%S+" do
  list[#list + 1] = fixture { name = name, inputs = { x = fx[(name:gsub("%-", "_"))] "d750" } }
end

mutants.base = "exact"
mutants.add_with("prek", "prek", {})
mutants.add_with("split", "split", {})

return experiment {
  name = "calibration", opset = "iOS18", precision = "fp16",
  shapes = { x = { 2, 750, MODEL }, heads = HEADS, head_dim = 64 },
  mutants = { "prek", "split", "zero_output", "constant_output", "uniform_attention", "heads_swapped", "batch_swapped", "scale_twice", "scale_missing",
              "scale_3_percent_off", "q_k_swapped", "k_v_swapped", "softmax_over_queries", "layout_misread", "output_doubled", "output_2_percent_high",
              "tail_tile_zero", "one_row_zero", "one_head_zero", "half_of_heads_zero", "heads_rotated", "scale_of_model_width", "v_of_other_batch",
              "q_bias_dropped", "heads_split_as_columns", "channels_first_misread" },

  weights { recipe = seeded and cal.weights(opt.gain) or fx.wset(MODEL, opt.gain), provenance = "synthetic" },
  reference { arm = "explicit", precision = "fp64", cut = "qkv" },
  list,

  arm { name = "explicit", role = "control", build = function(ctx) return attn.explicit(cal.first_heads(ctx)) end },
  arm { name = "fused", role = "candidate", build = function(ctx) return attn.fused(cal.first_heads(ctx)) end, change = { "attention_spelling" } },
  arm { name = "exact", role = "negative", build = exact, change = { "attention_precision" } },
  arm { name = "prek", role = "negative", build = prek, change = { "attention_order" } },
  arm { name = "split", role = "negative", build = split, change = { "attention_order" } },

  gate { use = "parity", arm = "fused", preset = "calibration-4", max_abs_factor_vs_control = 4, negative = {} },
}
