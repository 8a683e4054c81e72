-- Runs rules over the graph of a program: one finding for each place where one speaks, waived ones kept with their reason.
local flow = require "rules.flow"
local names = require "rules.names"

local authoring = {}

local severities = { error = 1, warning = 2, design = 3 }
local subjects = flow.set { "program", "fn", "op", "value", "site" }
local needed = { "id", "rows", "severity", "profiles", "sources", "summary", "way_out", "each", "check" }

local fields, profiles = flow.set { "applies", "ops", "exempt", table.unpack(needed) }, flow.set { "neural-engine", "gpu" }

-- What would make a rule silent without a word: a misspelt field or profile.
local function check_names(r, who)
  for key in pairs(r) do
    if not fields[key] then error(("%s: unknown field '%s'; a rule has %s, and may have applies, ops, exempt"):format(who, key, table.concat(needed, ", ")), 0) end
  end
  for _, profile in ipairs(r.profiles) do
    if not profiles[profile] then error(("%s: no profile '%s'; use neural-engine or gpu"):format(who, profile), 0) end
  end
end

-- A rule that lacks a part is an error of whoever wrote it, found when the pack is loaded.
function authoring.check_rules(list)
  local seen = {}
  for i, r in ipairs(list) do
    local who = ("rule %d ('%s')"):format(i, tostring(r.id))
    for _, key in ipairs(needed) do
      if r[key] == nil then error(("%s: field '%s' is missing; a rule has %s"):format(who, key, table.concat(needed, ", ")), 0) end
    end
    if not severities[r.severity] then error(("%s: severity '%s'; use error, warning or design"):format(who, r.severity), 0) end
    if not subjects[r.each] then error(("%s: each = '%s'; use program, fn, op, value or site"):format(who, r.each), 0) end
    check_names(r, who)
    if seen[r.id] then error(("%s: there is a rule of this name already"):format(who), 0) end
    seen[r.id] = true
  end
  return list
end

-- Does the rule hold for a program under these facts (profile, framework ...)?
function authoring.applies(r, facts)
  local wanted = false
  for _, profile in ipairs(r.profiles) do wanted = wanted or profile == facts.profile end
  return wanted and (not r.applies or r.applies(facts))
end

local function place(x)
  if not x then return "", "" end
  if x.functions then return "program", "" end
  if x.ops then return x.name, x.name end                                 -- a function
  local op = x.type and x or x.op and x.op.type and x.op
  if x.query then x = x.op end                                            -- an attention
  local fn = op and op.fn
  return ("%s%s%s"):format(fn and fn.name .. "/" or "", x.name, op and (" (%s)"):format(op.type) or ""), x.name
end

-- Calls check for each subject of the function.
local function walk(r, fn, call)
  if r.each == "fn" then return call(fn) end
  if r.each == "site" then
    for _, site in ipairs(fn.sites) do call(site) end
  elseif r.each == "value" then
    for _, v in ipairs(flow.values(fn)) do call(v) end
  elseif r.ops then
    local by_type = flow.by_type(fn)
    for _, type in ipairs(r.ops) do
      for _, op in ipairs(by_type[type] or {}) do call(op) end
    end
  else
    for _, op in ipairs(fn.ops) do call(op) end
  end
end

local function findings_of(r, cx, list)
  local function say(x)
    return function(message, at)
      at = at or x
      local where, name = place(at)
      if at.users and not at.op and cx.fn then where = cx.fn.name .. "/" .. where end      -- an input or a constant
      list[#list + 1] = { rule = r.id, rows = r.rows, severity = r.severity, where = where, name = name, message = message, way_out = r.way_out }
    end
  end
  if r.each == "program" then
    cx.fn = nil
    return r.check(cx.graph, say(cx.graph), cx)
  end
  for _, fn in ipairs(cx.graph.functions) do
    cx.fn = fn
    walk(r, fn, function(x) r.check(x, say(x), cx) end)
  end
end

-- Spaces of any script, and marks without width, are no reason.
local blanks = { "%s", "\u{A0}", "\u{3000}", "\u{FEFF}", "\xE2\x80[\x80-\x8F\xA8-\xAF]", "\xE2\x81[\x9F-\xA4]" }

local function check_reason(key, reason)
  local rest = reason
  for _, blank in ipairs(blanks) do rest = rest:gsub(blank, "") end
  if rest == "" then error(("waiver '%s': give the reason"):format(key), 0) end
  if reason:find "%c" then error(("waiver '%s': the reason stands on one line, without control characters"):format(key), 0) end
end

-- Waivers: { ["rule"] = reason, ["rule@name of the op, value or function"] = reason }. Marks findings; returns those that met none.
local function waive(findings, waivers, rules)
  local ids, used, unused = {}, {}, {}
  for _, r in ipairs(rules) do ids[#ids + 1] = r.id end
  local known = flow.set(ids)
  for key, reason in pairs(waivers) do
    local id = key:match "^[^@]*"
    if not known[id] then
      local near = names.near(id, ids)
      error(("waiver '%s': there is no rule '%s'%s; `assay lint --rules` lists them"):format(key, id, near and (" (did you mean '%s'?)"):format(near) or ""), 0)
    end
    check_reason(key, reason)
  end
  for _, f in ipairs(findings) do
    for _, key in ipairs { f.rule .. "@" .. f.name, f.rule } do
      if waivers[key] and not f.waived then
        f.waived, used[key] = waivers[key], true
      end
    end
  end
  for key in pairs(waivers) do
    if not used[key] then unused[#unused + 1] = key end
  end
  return unused
end

-- facts: the gate's parameters. others: { source = graph, control = graph, config = table }, each optional. Returns findings in the order of severity,
-- rule and program, the number of rules that applied, and the waivers that met nothing.
function authoring.run(rules, graph, facts, others, waivers)
  local cx = { graph = graph, facts = facts, source = others and others.source, control = others and others.control,
    config = others and others.config }
  local findings, applied = {}, 0
  for level = 1, 3 do
    for _, r in ipairs(rules) do
      if severities[r.severity] == level and authoring.applies(r, facts) then
        applied = applied + 1
        findings_of(r, cx, findings)
      end
    end
  end
  return findings, applied, waive(findings, waivers or {}, rules)
end

-- How many findings of each severity stand, and how many are waived.
function authoring.count(findings)
  local n = { error = 0, warning = 0, design = 0, waived = 0 }
  for _, f in ipairs(findings) do
    local key = f.waived and "waived" or f.severity
    n[key] = n[key] + 1
  end
  return n
end

return authoring
