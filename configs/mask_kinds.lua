-- Masks side by side: the same padding written as booleans, as a large negative number and as -infinity. The reference encodes
-- the intent, not an arm. --set size=d750 runs it at the real size.
local attn, fx, mask = require "assay.attention", require "assay.fixtures", require "assay.masks"

local opt = options { size = { "string", default = "mini", help = "mini or d750" } }
local sizes = {
  mini = { shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 }, width = 256, valid = 24 },
  d750 = { shapes = { x = { 2, 750, 1280 }, heads = 20, head_dim = 64 }, width = 1280, valid = 600 },
}
local at = sizes[opt.size] or error("size = mini or d750", 0)

local list = {}
for _, kind in ipairs { "bool", "float_finite", "float_neginf" } do
  list[#list + 1] = arm { name = kind, role = "candidate", build = attn.fused, with = { mask = mask.key_padding { valid = at.valid, kind = kind } },
     change = { "attention_spelling", "mask.sentinel" } }
  list[#list + 1] = gate { use = "sensitivity", arm = kind, off = "nomask", on = kind }
end

return experiment {
  name = "mask-kinds", shapes = at.shapes,
  weights { recipe = fx.wset(at.width, 2.5) },
  reference { program = attn.oracle, with = { mask = mask.key_padding { valid = at.valid } } },
  fixture { name = "normal", inputs = { x = fx.normal(opt.size) } },
  arm { name = "nomask", role = "control", build = attn.explicit },
  list,
  compare { "bool", "float_neginf", fixture = "normal", expect = "equal" },
}
