-- The latency gate on this machine: the explicit arm against itself, or against itself with some more work planted at its end. The
-- experiment is about the reference backend, so that its timings decide.
local attn, fx = require "assay.attention", require "assay.fixtures"

local opt = options {
  tokens = { "number", default = 200, help = "sequence length; the main experiment has 750" },
  width = { "number", default = 256, help = "256, or 1280 as the main experiment" },
  extra = { "number", default = 0, help = "multiplications by 1 planted in the candidate" },
  seed = { "number", default = 1, help = "of the block orders" },
  blocks = { "number", default = 0, help = "blocks in each process; 0: as the pilot plans" },
  processes = { "number", default = 5, help = "fresh processes" },
  resolve = { "number", default = 0, help = "ms that the planned run must tell from nothing; 0: 1 % of the level" },
  max_wait = { "number", default = 0.02, help = "share of a block that may be spent waiting for a processor; 1: any" },
  warmup = { "number", default = 0.5, help = "seconds per process and arm" },
}
local S, D, extra, seed = opt.tokens | 0, opt.width | 0, opt.extra | 0, opt.seed | 0

local function planted(ctx)
  local y = attn.explicit(ctx)
  for i = 1, extra do y = ctx.mil:mul { x = y, y = 1.0, name = "planted" .. i } end
  return y
end

return experiment {
  name = "latency-bench", opset = "iOS18", precision = "fp16", compute_units = "cpu_only",
  target = { framework = "reference", unit = "CPU" },
  shapes = { x = { 2, S, D }, heads = D // 64, head_dim = 64 },
  seeds = { fixture = 0, order = 1 },
  weights { recipe = fx.wset(D, 2.5), provenance = "synthetic" },
  reference { arm = "explicit", precision = "fp64", cut = "program" },
  fixture { name = "one", inputs = { x = fx.seeded { label = "bench/one", shape = { 2, S, D }, dtype = "fp16" } } },
  fixture { name = "two", inputs = { x = fx.seeded { label = "bench/two", shape = { 2, S, D }, dtype = "fp16" } } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "other", role = "candidate", build = planted },
  gate { use = "latency", arm = "other", fixture = { "one", "two" }, seed = seed, warmup_s = opt.warmup, processes = opt.processes | 0,
    blocks = opt.blocks > 0 and opt.blocks | 0 or nil, resolve_ms = opt.resolve > 0 and opt.resolve or nil, max_wait = opt.max_wait },
}
