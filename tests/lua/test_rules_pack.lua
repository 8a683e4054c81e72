-- The pack as a whole: every rule is tested with a right and a wrong program, names its rows, and a wrong rule is refused.
local authoring = require "rules.authoring"
local pack = require "rules.pack"
local pair = require "rules_pair"
for _, name in ipairs { "shapes", "attention", "layers", "blocks", "cache", "config" } do require("test_rules_" .. name) end

local T = {}

function T.every_rule_has_a_right_and_a_wrong_program()
  for _, r in ipairs(pack) do
    if not pair.tested[r.id] then error(r.id .. " has no pair of programs", 0) end
  end
end

function T.every_rule_names_rows_and_sources()
  for _, r in ipairs(pack) do
    t.ok(#r.rows > 0 and #r.sources > 0 and #r.profiles > 0)
    for _, row in ipairs(r.rows) do t.ok(row:find "^M%d+$") end
  end
end

-- Every row of M80-M171 and M190-M247 has a rule, or an entry that says who decides it.
function T.no_row_is_forgotten()
  local seen = {}
  for _, r in ipairs(pack) do
    for _, row in ipairs(r.rows) do seen[row] = true end
  end
  for _, w in ipairs(require "rules.waiting") do seen[w.row] = true end
  local missing = {}
  for i = 80, 247 do
    if (i <= 171 or i >= 190) and not seen["M" .. i] then missing[#missing + 1] = "M" .. i end
  end
  t.equal(table.concat(missing, " "), "")
end

local function refused(change, text)
  local rule = { id = "r", rows = {}, severity = "error", profiles = { "gpu" }, sources = {}, summary = "", way_out = "", each = "op", check = function() end }
  for key, value in pairs(change) do rule[key] = value ~= "none" and value or nil end
  t.fails(function() authoring.check_rules { rule } end, text)
end

function T.a_rule_that_lacks_a_part_is_refused()
  refused({ way_out = "none" }, "field 'way_out' is missing")
  refused({ severity = "fatal" }, "severity 'fatal'; use error, warning or design")
  refused({ each = "tensor" }, "each = 'tensor'")
  refused({ op = { "tanh" } }, "unknown field 'op'; a rule has")
  refused({ profiles = { "gpu", "ane" } }, "no profile 'ane'; use neural-engine or gpu")
  t.fails(function() authoring.check_rules { pack[1], pack[1] } end, "there is a rule of this name already")
end

local function six(m)
  local x = m:reshape { x = m:input("x", { 1, 64, 1, 64 }), shape = { 1, 2, 2, 4, 4, 64 }, name = "windows" }
  return m:reshape { x = m:relu { x }, shape = { 1, 64, 1, 64 } }
end

function T.a_waiver_keeps_the_finding_and_its_reason()
  local found = pair.findings("neural-engine", six, { waive = { ["rank_limit@windows"] = "measured: it stays resident" } })
  t.equal(found[1].waived, "measured: it stays resident")
  t.equal(found[2].waived, nil)
  local n = authoring.count(found)
  t.equal(n.waived, 1)
  t.equal(n.error, 1)
end

function T.waivers_need_a_reason_and_a_rule()
  t.fails(function() pair.findings("neural-engine", six, { waive = { rank_limit = " " } }) end, "give the reason")
  for _, blank in ipairs { "", "\t \n", "\u{A0}", "\u{3000}\u{200B}", "\u{2028}\u{FEFF}\u{2060}" } do
    t.fails(function() pair.findings("neural-engine", six, { waive = { rank_limit = blank } }) end, "give the reason")
  end
  t.fails(function() pair.findings("neural-engine", six, { waive = { rank_limit = "a\nverdict: pass" } }) end, "on one line")
  for _, reason in ipairs { "理由", "é", "n/a \u{A0}" } do pair.findings("neural-engine", six, { waive = { rank_limit = reason } }) end
  t.fails(function() pair.findings("neural-engine", six, { waive = { rank_limt = "x" } }) end, "did you mean 'rank_limit'?")
end

function T.a_waiver_that_meets_nothing_is_told()
  local _, _, unused = pair.findings("neural-engine", six, { waive = { custom_op = "no longer there" } })
  t.equal(unused[1], "custom_op")
end

return T
