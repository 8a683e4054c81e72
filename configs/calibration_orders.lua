-- Where attention rounds, against float64: the table of orders in docs/reference/calibration.md.
--   assay run configs/calibration_orders.lua --set input=peaky
-- --set input=trained0 takes a trained layer, whose files are not part of the project (--set data=DIR, as in trained_ocr.lua).
-- --set heads=2 adds the arm whose sums are kept in fp16 (it is slow). Figures of `fused vs explicit` stand in the table of the gate.
local attn, cal, orders = require "assay.attention", require "assay.calibration", require "assay.orders"

local opt = options {
  input = { "string", default = "flat", help = "flat, peaky, silence_like, hot or sink; trained0 or trained1" },
  heads = { "integer", default = 20, help = "the first heads of 20" },
  data = { "path", default = "../../shared/fixtures", help = "folder with trained0-x.npy, trained0-wqkv.npy, ..." },
}
local layer = opt.input:match "^trained[01]$"

local function file(name) return assay.npy(("%s/%s-%s.npy"):format(opt.data, layer, name)) end

-- What differs between a trained layer and the seeded inputs.
local at = layer and {
  shapes = { x = { 1, 200, 120 }, heads = 8, head_dim = 15 }, x = file "x",
  weights = weights { recipe = { qkv = file "wqkv", bqkv = file "bqkv" }, split = "qkv", provenance = "trained" },
  heads_of = function(ctx) return ctx end,
} or {
  shapes = { x = { 2, 750, 1280 }, heads = opt.heads, head_dim = 64 }, x = cal.input(opt.input),
  weights = weights { recipe = cal.weights(cal.gain(opt.input)), provenance = "synthetic" }, heads_of = cal.first_heads,
}

local function cast(m, x, dtype) return m:cast { x = x, dtype = dtype } end

-- Query scaled first, scores and probabilities stored in fp16, with another softmax in between.
local function stored(softmax)
  return function(ctx)
    local m = ctx.mil
    attn.explicit(at.heads_of(ctx))
    return m:matmul { x = softmax(m, m:value "scores"), y = m:value "v", name = "attention" }
  end
end

local function fp32(m, scores) return cast(m, m:softmax { x = cast(m, scores, "fp32"), axis = -1 }, "fp16") end

-- All steps rounded, the running sum too.
local function narrow(m, scores)
  local e = m:exp { x = m:sub { x = scores, y = m:reduce_max { x = scores, axes = { -1 }, keep_dims = true } } }
  return m:real_div { x = e, y = orders.narrow_sum(m, e) }
end

local rows = { "explicit", "f16wide", "fused", "f16narrow", fixture = opt.input, expect = "any" }
local slow = {}
if not layer and opt.heads <= 4 then
  slow[1] = arm { name = "narrow_sums", role = "negative", like = "f16wide", rewrite = orders.rewrite "narrow_sums", change = { "attention_order" } }
  rows[#rows + 1] = "narrow_sums"
end

return experiment {
  name = "calibration-orders", opset = "iOS18", precision = "fp16", stop = "never",
  shapes = at.shapes,
  at.weights,
  -- The fused op, because its scale is exact: a spelled-out one is a constant of the program, rounded to fp16.
  reference { arm = "intent", precision = "fp64", cut = "qkv" },
  fixture { name = opt.input, inputs = { x = at.x }, provenance = layer and "trained" or "synthetic" },
  arm { name = "explicit", role = "control", build = stored(fp32) },
  arm { name = "intent", role = "negative", build = function(ctx) return attn.fused(at.heads_of(ctx)) end, change = { "attention_spelling" } },
  arm { name = "fused", role = "candidate", build = function(ctx) return attn.fused(at.heads_of(ctx)) end, change = { "attention_spelling" } },
  arm { name = "f16wide", role = "negative", build = function(ctx) return attn.explicit(at.heads_of(ctx)) end, change = { "attention_order" } },
  arm { name = "f16narrow", role = "negative", build = stored(narrow), change = { "attention_order" } },
  slow,
  gate { use = "parity", arm = "fused", preset = "calibration-4", max_abs_factor_vs_control = 4, negative = {} },
  compare(rows),
}
