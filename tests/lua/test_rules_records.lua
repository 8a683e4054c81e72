-- Waivers and config.json as a gate of rules reads them: what is no object, no text or no size is refused by name.
local records = require "rules.records"

local T = {}

-- Evidence that holds these records.
local function evidence(given)
  local ev = {}
  function ev.count(_, role) return #(given[role] or {}) end
  function ev.record(_, role) return given[role][1] ~= "nothing" and given[role][1] or nil end
  return ev
end

local function config(value) return records.config(evidence { config = { value } }) end
local function waivers(...) return records.waivers(evidence { waivers = { ... } }, { from_script = "kept" }) end

function T.sizes_of_a_config_are_whole_numbers_or_absent()
  t.equal(config { head_dim = 64, other = "text" }.head_dim, 64)
  t.equal(records.config(evidence {}), nil)
  for _, bad in ipairs { "64", 64.5, 0, -1, true, { 64 } } do
    t.fails(function() config { head_dim = bad } end, "config: head_dim: expected a whole number of at least 1")
  end
  t.fails(function() config { num_attention_heads = "8" } end, "got a string")
end

function T.what_is_no_object_is_refused()
  for _, bad in ipairs { 7, "x", true, { "a" }, "nothing" } do
    t.fails(function() config(bad) end, "an object such as")
    t.fails(function() waivers(bad) end, "RULE or RULE@NAME")
  end
end

function T.waivers_of_script_and_file_are_joined()
  local all = waivers { from_file = "a reason" }
  t.equal(all.from_script, "kept")
  t.equal(all.from_file, "a reason")
  t.fails(function() waivers { from_file = 7 } end, "waiver 'from_file': the reason is a text, got a number")
  t.fails(function() waivers({ a = "x" }, { b = "y" }) end, "one file is expected, got 2")
end

return T
