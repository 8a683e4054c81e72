-- The arms of the expectations table of docs/reference/device-profiles.md, one a run, at the small shape.
local attn, fx, mask = require "assay.attention", require "assay.fixtures", require "assay.masks"

local opt = options {
  arm = { "string", default = "fused", help = "fused, explicit, direct, gap, ladder, masked, masked_bool, scaled or residual" },
  fixture = { "string", default = "normal", help = "x of the arms with projections: normal or near-max-sparse" },
  gain = { "number", default = 2.5, help = "weight gain: 1 flat, 2.5 peaked attention" },
  layers = { "integer", default = 32, help = "layers of the latency question" },
  loud = { "number", default = 1, help = "size of the residual of arm residual against a normal one" },
  must_fail = { "boolean", default = true, help = "with the dead arm beside it" },
  blocks = { "integer", default = 0, help = "timed blocks in each process; 0: as the pilot plans" },
  prize = { "number", default = 5, help = "ms that all layers together must gain; 0: any gain" },
  warmup = { "number", default = 0.05, help = "seconds of warm-up of each process and arm" },
}

-- The sum with the residual alone: the attention itself is not shown.
local function only_block(build)
  return function(ctx)
    local m, x = ctx.mil, nil
    local out = build(ctx)
    x = m:input("residual", ctx.shapes.x)
    local merged = m:reshape { x = m:transpose { x = out, perm = { 0, 2, 1, 3 } }, shape = ctx.shapes.x }
    return m:add { x = x, y = merged, name = "block" }
  end
end

-- q, k and v reach the attention as results of an op: inputs themselves would send it to another unit (P9).
local function computed(build)
  return function(ctx)
    local m, out = ctx.mil, build(ctx)
    for _, name in ipairs { "q", "k", "v" } do
      local input = m:value(name)
      m:after(input)
      m:replace(input, m:mul { x = input, y = 1, name = name .. "_computed" })
    end
    return out
  end
end

local key = { valid = 24 }
local kinds = {
  fused = { control = attn.explicit, candidate = attn.fused },
  explicit = { control = attn.explicit, candidate = attn.explicit },
  direct = { control = attn.explicit_qkv_inputs, candidate = attn.fused_qkv_inputs, inputs = { 2, 4, 30, 64 } },
  gap = { control = attn.explicit_qkv_inputs, candidate = attn.fused_qkv_inputs, inputs = { 1, 512, 40, 64 } },
  ladder = { control = computed(attn.explicit_qkv_inputs), candidate = computed(attn.fused_qkv_inputs), inputs = { 1, 1, 64, 64 }, named = "ladder-28" },
  masked = { control = attn.explicit, candidate = attn.fused, mask = "float_finite" },
  masked_bool = { control = attn.explicit, candidate = attn.fused, mask = "bool" },
  scaled = { control = attn.explicit, candidate = attn.explicit },   -- what the converter makes of a given scale
  residual = { control = only_block(attn.explicit), candidate = only_block(attn.fused) },
}
-- Arms whose inputs are q, k and v ask about placement alone: the conversion gate would say that this is another program.
local kind = kinds[opt.arm] or error("no such arm", 0)
local fused = opt.arm ~= "explicit"

local inputs, shapes = { x = assay.fixture(opt.fixture, "mini") }, { x = { 2, 30, 256 }, heads = 4, head_dim = 64 }
if kind.inputs then
  inputs = {}
  for _, name in ipairs { "q", "k", "v" } do
    inputs[name] = kind.named and assay.attention(kind.named, name) or fx.seeded { label = "devices/" .. name, shape = kind.inputs, scale = 1, dtype = "fp16" }
  end
  local s = kind.inputs
  shapes = { x = { s[1], s[3], s[2] * s[4] }, heads = s[2], head_dim = s[4] }
elseif opt.arm == "residual" then
  inputs.residual = fx.seeded { label = "devices/residual", shape = { 2, 30, 256 }, scale = opt.loud, dtype = "fp16" }
end
local with = kind.mask and { mask = mask.key_padding { valid = key.valid, kind = kind.mask } } or {}

return experiment {
  name = "devices", opset = "iOS18", precision = "fp16", compute_units = "cpu_and_ne", stop = "never",
  target = { framework = "coreml", unit = "NE" },
  shapes = shapes, seeds = { fixture = 0, order = 2 },
  claim { id = "faster", text = "the candidate gains", needs = { "latency" } },
  kill { gate = "latency", metric = "gain_ms_ci_low", at_most = 0, claim = "faster", why = "the interval includes zero" },

  weights { recipe = fx.wset(256, opt.gain), provenance = "synthetic" },
  reference { arm = "control", precision = "fp64" },
  fixture { name = "normal", inputs = inputs },
  arm { name = "control", role = "control", build = kind.control, with = with },
  arm { name = "candidate", role = "candidate", build = kind.candidate, with = with, change = { "attention_spelling" } },
  arm { name = "cpu_only", role = "negative", like = "candidate", compute_units = "cpu_only" },
  fused and opt.must_fail and opt.arm ~= "scaled" and arm { name = "dead", role = "must_fail", like = "candidate", mutate = attn.zero_output } or {},
  fused and not kind.inputs and gate { use = "conversion", arm = "candidate", require = { scaled_dot_product_attention = 1 } } or {},
  gate { use = "placement", arm = "candidate", op_of_interest = { fused and opt.arm ~= "scaled" and "scaled_dot_product_attention" or "softmax" }, require_device = "NE" },
  gate { use = "dead_path", arm = "candidate" },
  gate { use = "parity", arm = "candidate", cosine_min = 0.9999, max_abs_factor_vs_control = 4 },
  gate { use = "corroboration", arm = "candidate" },
  gate { use = "latency", arm = "candidate", layers = opt.layers, min_prize_ms = opt.prize, margin_ms = 0, warmup_s = opt.warmup,
    blocks = opt.blocks > 0 and opt.blocks or nil },
}
