-- The latency gate on this machine: the explicit arm against itself, or against itself with some more work planted at its end. The
-- experiment is about the reference backend, so that its timings decide.
local attn, fx = require "assay.attention", require "assay.fixtures"

local opt = options {
  tokens = { "number", default = 200, help = "sequence length; the main experiment has 750" },
  width = { "number", default = 256, help = "256, or 1280 as the main experiment" },
  extra = { "number", default = 0, help = "multiplications by 1 planted in the candidate; of a fraction, that share of the rows" },
  seed = { "number", default = 1, help = "of the block orders" },
  blocks = { "number", default = 0, help = "blocks in each process; 0: as the pilot plans" },
  processes = { "number", default = 5, help = "fresh processes" },
  resolve = { "number", default = 0, help = "ms that the planned run must tell from nothing; 0: 1 % of the level" },
  max_wait = { "number", default = 0.02, help = "share of a block that may be spent waiting for a processor; 1: any" },
  warmup_min = { "number", default = 40, help = "predictions per process and arm before the first block" },
  warmup = { "number", default = 0.5, help = "seconds per process and arm" },
}
local S, D, seed = opt.tokens | 0, opt.width | 0, opt.seed | 0
local whole = math.floor(opt.extra)
local heads, rows = D // 64, math.floor((opt.extra - whole) * S + 0.5)

local function planted(ctx)
  local m, y = ctx.mil, attn.explicit(ctx)
  for i = 1, whole do y = m:mul { x = y, y = 1.0, name = "planted" .. i } end
  if rows == 0 or rows == S then return y end
  local first = m:slice_by_size { x = y, begin = { 0, 0, 0, 0 }, size = { 2, heads, rows, 64 }, name = "first" }
  local rest = m:slice_by_size { x = y, begin = { 0, 0, rows, 0 }, size = { 2, heads, S - rows, 64 }, name = "rest" }
  return m:concat { values = { m:mul { x = first, y = 1.0, name = "planted_first" }, rest }, axis = 2, interleave = false, name = "planted" }
end

return experiment {
  name = "latency-bench", opset = "iOS18", precision = "fp16", compute_units = "cpu_only",
  target = { framework = "reference", unit = "CPU" },
  shapes = { x = { 2, S, D }, heads = heads, head_dim = 64 },
  seeds = { fixture = 0, order = 1 },
  weights { recipe = fx.wset(D, 2.5), provenance = "synthetic" },
  reference { arm = "explicit", precision = "fp64", cut = "program" },
  fixture { name = "one", inputs = { x = fx.seeded { label = "bench/one", shape = { 2, S, D }, dtype = "fp16" } } },
  fixture { name = "two", inputs = { x = fx.seeded { label = "bench/two", shape = { 2, S, D }, dtype = "fp16" } } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "other", role = "candidate", build = planted },
  gate { use = "latency", arm = "other", fixture = { "one", "two" }, seed = seed, warmup_s = opt.warmup, warmup_min = opt.warmup_min | 0, processes = opt.processes | 0,
    blocks = opt.blocks > 0 and opt.blocks | 0 or nil, resolve_ms = opt.resolve > 0 and opt.resolve or nil, max_wait = opt.max_wait },
}
