-- Arms side by side: three spellings of one attention with its mask on and off, and the fused one under each policy of compute
-- units. `unfusable` is the third control: no runtime's pattern matches it, so it shows what the units do to unfused ops.
--   assay run configs/side_by_side.lua --device sim-units --out run
--   assay compare run
local attn, fx, mask = require "assay.attention", require "assay.fixtures", require "assay.masks"

local opt = options { size = { "string", default = "mini", help = "mini or d750" } }
local sizes = {
  mini = { shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 }, width = 256, valid = 24 },
  d750 = { shapes = { x = { 2, 750, 1280 }, heads = 20, head_dim = 64 }, width = 1280, valid = 600 },
}
local at = sizes[opt.size] or error("size = mini or d750", 0)
local with = { mask = mask.key_padding { valid = at.valid, kind = "float_finite" } }

-- Each spelling under its own name, and without the mask as NAME_off: what must be rejected, for then a mask that is ignored is seen.
local arms, masks, units = {}, { fixture = "normal", expect = "any" }, { fixture = "normal", expect = "any" }
local roles = { explicit = "control", fused = "candidate", unfusable = "negative" }
for _, name in ipairs { "explicit", "fused", "unfusable" } do
  local change = { "attention_spelling" }
  arms[#arms + 1] = arm { name = name, role = roles[name], build = attn[name], with = with, change = name ~= "explicit" and change or nil }
  arms[#arms + 1] = arm { name = name .. "_off", role = "must_fail", build = attn[name], change = { "attention_spelling", "mask" } }
  masks[#masks + 1], masks[#masks + 2] = name, name .. "_off"
end
for _, policy in ipairs { "cpu_only", "cpu_and_gpu", "cpu_and_ne" } do
  arms[#arms + 1] = arm { name = policy, role = "negative", like = "fused", compute_units = policy }
  units[#units + 1] = policy
end

return experiment {
  name = "side-by-side", opset = "iOS18", precision = "fp16", shapes = at.shapes,
  weights { recipe = fx.wset(at.width, 2.5) },
  reference { program = attn.oracle, with = with },
  fixture { name = "normal", inputs = { x = fx.normal(opt.size) } },
  arms,
  gate { use = "parity", arm = "fused" },
  compare(masks), compare(units),
}
