-- Perturbations: data for gates, functions for fixtures.
local perturb, masks = require "assay.perturb", require "assay.masks"
local T = {}

local function inputs() return { x = assay.normal({ label = "p/x", shape = { 2, 4, 8 } }):tensor() } end

function T.token_is_data()
  t.equal(perturb.token({ batch = 1, position = 3 }).token.position, 3)
  t.equal(perturb.named("louder").named, "louder")
  t.fails(function() perturb.token {} end, "position is needed")
end

function T.scaled_changes_every_element()
  local a = inputs()
  t.equal(perturb.scaled(2)(a).x:at(1, 2, 3), 2 * a.x:at(1, 2, 3))
end

function T.batch_swapped_twice_is_the_same()
  local a, swap = inputs(), perturb.batch_swapped()
  t.ok(not swap(a).x:equals(a.x))
  t.ok(swap(swap(a)).x:equals(a.x))
end

function T.token_zeroed_leaves_the_rest()
  local a = inputs()
  for position = 0, 3 do
    local b = perturb.token_zeroed(position)(a).x
    t.equal(b:slice(1, position, 1):max_abs(), 0)
    t.equal(b.count, a.x.count)
    t.equal(b:at(1, (position + 1) % 4, 5), a.x:at(1, (position + 1) % 4, 5))
  end
end

function T.masks_refuse_what_makes_no_sense()
  t.fails(function() masks.key_padding { valid = 3, kind = "float" } end, "use bool, float_finite or float_neginf")
  t.fails(function() masks.key_padding {} end, "valid = number of keys")
  t.fails(function() masks.tensor(masks.key_padding { valid = 9 }, { B = 1, S = 4 }, "fp16") end, "valid = 9 of 4 keys")
  t.fails(function() masks.tensor(masks.key_padding { valid = { 1, 2, 3 } }, { B = 2, S = 4 }, "fp16") end, "3 entries in `valid` for a batch of 2")
end

return T
