-- For the tests: the laws on arms with projections, through their attention alone.
local attn, fx, laws = require "assay.attention", require "assay.fixtures", require "assay.laws"
local opt = options { fault = { "string", default = "no", help = "yes: the scale twice" } }
local function seeded(name) return fx.seeded { label = "test/laws/" .. name, shape = { 2, 2, 12, 16 }, dtype = "fp16" } end
return experiment {
  name = "lawful_on", opset = "iOS18", precision = "fp16", shapes = { x = { 2, 12, 32 }, heads = 2 },
  weights { recipe = fx.projections { label = "test/power", width = 32, gain = 2 }, provenance = "synthetic" },
  fixture { name = "n", inputs = { x = fx.seeded { label = "test/power/x", shape = { 2, 12, 32 }, dtype = "fp16" }, law_q = seeded "q", law_k = seeded "k",
            law_v = seeded "v" }, perturb = laws.inputs(laws.names) },
  arm { name = "explicit", role = "control", build = attn.explicit },
  arm { name = "fused", role = "candidate", build = attn.fused },
  arm { name = "wrong", role = "candidate", like = "fused", mutate = attn.double_scale },
  laws.on "fused", laws.on "explicit", opt.fault == "yes" and laws.on "wrong" or {},
}
