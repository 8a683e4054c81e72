-- Sliced-Q: the query in chunks, so that the scores of a chunk alone are held. It trades speed for memory, so it is worth trying only
-- where the unsliced arm is right and placed: `follows` refuses to start otherwise; and where it is limited by memory: the first gate
-- ends the experiment when the control's recorded peak fits the budget. First
--   assay run configs/whisper_d750.lua --device PROFILE --out runs/unsliced      (or on the target)
-- then this one, with the receipt of that run and, from the target, the peaks of both arms (docs/howto/attach-a-record.md).
local attn, fx = require "assay.attention", require "assay.fixtures"

local opt = options {
  after = { "path", help = "receipt.<host>.json of the unsliced run" },
  size = { "string", default = "d750", help = "d750 or mini" },
  divider = { "integer", default = 16, help = "number of query chunks" },
  records = { "path", default = "", help = "folder with explicit.json and sliced.json, recorded on the target (memory-record/1); a simulated device estimates its own" },
  budget = { "number", help = "bytes that there are on the target for one layer: an unsliced arm that fits needs no slicing" },
  max_ratio = { "number", default = 0.75, help = "largest peak memory as a share of the unsliced arm's" },
}
local sizes = {
  mini = { shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 }, width = 256 },
  d750 = { shapes = { x = { 2, 750, 1280 }, heads = 20, head_dim = 64 }, width = 1280 },
}
local at = sizes[opt.size] or error("size = mini or d750", 0)

return experiment {
  name = "sliced-q", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne",
  target = { framework = "coreml", unit = "NE" },
  shapes = at.shapes, seeds = { fixture = 0, order = 2 },
  follows { receipt = opt.after, needs = { placement = "pass", parity = "pass" } },

  claim { id = "right", text = "slicing the query changes nothing", needs = { "dead_path", "parity" } },
  claim { id = "smaller", text = "it needs less memory at its peak", needs = { "memory" } },

  weights { recipe = fx.wset(at.width, 2.5), provenance = "synthetic" },
  reference { arm = "explicit", precision = "fp64" },
  fixture { name = "normal", inputs = { x = fx.normal(opt.size) } },

  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "sliced", role = "candidate", build = attn.sliced_q, with = { divider = opt.divider }, change = { "attention_spelling" } },
  arm { name = "dead", role = "must_fail", like = "sliced", mutate = attn.zero_output },

  opt.records ~= "" and {
    record { name = "memory", arm = "explicit", file = opt.records .. "/explicit.json" },
    record { name = "memory", arm = "sliced", file = opt.records .. "/sliced.json" },
  } or {},

  gate { use = "memory", arm = "sliced", max_ratio = opt.max_ratio, budget_bytes = opt.budget },
  gate { use = "placement", arm = "sliced", op_of_interest = { "matmul", "softmax" }, require_device = "NE" },
  gate { use = "dead_path", arm = "sliced" },
  gate { use = "parity", arm = "sliced", cosine_min = 0.9999, max_abs_factor_vs_control = 4 },
}
