-- Evidence that shows nothing never passes: zeros, NaN and empty tensors before the gates of numbers written in Lua.
local T = {}

local function full(x) return assay.full({ value = x, shape = { 1, 2, 4, 8 }, dtype = "fp32" }):tensor() end
local function normal(label) return assay.normal({ label = label, shape = { 1, 2, 4, 8 }, dtype = "fp32" }):tensor() end

local zero, nan, one, lively = full(0), full(0 / 0), full(1), normal "without_signal/x"
local empty = assay.full({ value = 0, shape = { 1, 2, 0, 8 }, dtype = "fp32" }):tensor()

local function without_signal(v)
  t.equal(v.verdict, "invalid")
  t.ok(v.codes:find "without_signal")
end

function T.ladder()
  local function judge(r, c) return t.judge("ladder", { ladder = "guide-C" }, { ["reference:8-bit"] = r, ["candidate:8-bit"] = c }) end
  t.equal(judge(lively, lively).verdict, "pass")
  t.equal(judge(lively, nan).verdict, "kill")
  for _, dark in ipairs { zero, nan, empty } do without_signal(judge(dark, dark)) end
end

function T.nearest_mutant()
  local function judge(r, c) return t.judge("nearest_mutant", { mutants = { "m" } }, { ["reference:n"] = r, ["candidate:n"] = c, ["m:n"] = c }) end
  t.equal(judge(lively, lively).verdict, "pass")
  t.equal(judge(lively, lively:scale(2)).verdict, "kill")
  for _, dark in ipairs { zero, nan } do without_signal(judge(dark, lively)) end
  without_signal(judge(empty, empty))
end

function T.attribution()
  local function judge(r, c) return t.judge("attribution", { orders = "both_stored" }, { ["reference:@reference"] = r, candidate = c, ["reference:order_both_stored"] = c }) end
  t.equal(judge(lively, lively:plus(one:scale(0.001))).verdict, "pass")
  for _, dark in ipairs { zero, nan, empty } do without_signal(judge(dark, dark)) end
end

-- A law of one change: base and changed are equal outputs.
local function law(name, inputs, base, changed)
  return t.judge("laws", { laws = { name } }, { ["query:inputs"] = inputs.q or lively, ["key:inputs"] = inputs.k or lively, ["value:inputs"] = inputs.v or lively,
    ["base:as_it_is"] = base, ["changed:" .. name] = changed })
end

function T.laws()
  t.equal(law("keys_permuted", {}, lively, lively).verdict, "pass")
  t.equal(law("keys_permuted", {}, lively, one).verdict, "kill")
  t.equal(law("keys_permuted", {}, nan, nan).verdict, "kill")
  for _, dark in ipairs { zero, nan, full(1 / 0) } do without_signal(law("keys_permuted", { v = dark }, lively, lively)) end
  without_signal(law("keys_permuted", { q = nan }, lively, lively))
  local silent = law("value_doubled", {}, zero, zero)
  t.equal(silent.verdict, "inconclusive")
  t.ok(silent.codes:find "output_without_signal")
end

-- Equal tokens in another order are the same tokens: two equal calls say nothing about the law.
function T.a_law_whose_change_changes_nothing_is_not_held()
  local v = law("keys_permuted", { k = one, v = one }, lively, lively)
  t.equal(v.verdict, "inconclusive")
  t.ok(v.codes:find "nothing_decided")
end

return T
