-- For the tests: the laws on attention with inputs q, k, v. `mutant` plants a fault in candidate and control alike, so that the
-- reference, which is the control in float64, has it too and parity sees nothing.
local attn, fx, laws = require "assay.attention", require "assay.fixtures", require "assay.laws"
local mutants = require "assay.mutants"
local opt = options {
  mutant = { "string", default = "none", help = "fault of both arms" },
  precision = { "string", default = "fp16", help = "fp16 or fp32" },
  spelling = { "string", default = "fused", help = "spelling of the candidate without a fault" },
  gain = { "number", default = 1, help = "of the query" },
}
local function seeded(name, scale) return fx.seeded { label = "test/laws/" .. name, shape = { 2, 2, 24, 16 }, scale = scale, dtype = opt.precision } end
local function fault(m)
  for _, mutant in ipairs(mutants.list) do
    if mutant.name == opt.mutant then return mutant.change(m, { inputs = {} }) end
  end
  error("no mutant " .. opt.mutant, 0)
end
local whole = { arm { name = "explicit", role = "control", build = attn.explicit_qkv_inputs },
                arm { name = "candidate", role = "candidate", build = opt.spelling == "fused" and attn.fused_qkv_inputs or attn.explicit_qkv_inputs } }
local broken = { arm { name = "right", role = "negative", build = attn.explicit_qkv_inputs },
                 arm { name = "explicit", role = "control", like = "right", mutate = fault },
                 arm { name = "candidate", role = "candidate", like = "right", mutate = fault } }
return experiment {
  name = "laws", opset = "iOS18", precision = opt.precision, stop = "never", shapes = { x = { 2, 24, 32 }, heads = 2, head_dim = 16 },
  fixture { name = "normal", inputs = { q = seeded("q", opt.gain), k = seeded("k", 1), v = seeded("v", 1) }, perturb = laws.inputs() },
  opt.mutant == "none" and whole or broken,
  gate { use = "parity", arm = "candidate", max_abs_factor_vs_control = 4 },
  gate { use = "laws", arm = "candidate" },
}
