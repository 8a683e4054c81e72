-- Makes a gate of a list of rules. A file of your own rules is a gate in two lines:
--   return require "rules.gate" { name = "house_rules", summary = "...", rules = { { id = ..., check = ... } } }
local authoring = require "rules.authoring"
local caches = require "rules.caches"
local classifier = require "rules.classifier"
local records = require "rules.records"

local params = {
  profile = { "string", choices = "neural-engine|gpu", help = "the unit that the program is written for; chosen before authoring, so there is no default" },
  framework = { "string", choices = "coreml|coreai", default = "coreml", help = "whose runtime: some rules hold for one of them only" },
  loader = { "string", choices = "unknown|prepared_model|direct", default = "unknown",
    help = "who loads the asset: names of functions choose the unit only for prepared_model" },
  kv = { "string", choices = "undeclared|read_only|state|none", default = "undeclared", help = "the declared pattern of the key-value cache" },
  palette_scales = { "string", choices = "recipe|session", default = "recipe",
    help = "whether a palette may have a scale for each channel: recipe says no, a session yes; see docs/reference/sources.md" },
  fail_on = { "string", choices = "error|warning|design", default = "error", help = "the mildest severity that kills" },
  weight_limit_bytes = { "number", default = 2e9, min = 0, help = "largest size of all weights under neural-engine" },
  kernel_max = { "integer", default = 8, min = 1, help = "largest kernel extent that is not advised to be split" },
  movement_max = { "integer", optional = true, min = 0, help = "most reshapes, transposes and casts a function may hold; not given: counted only" },
  contexts = { "integer", list = true, default = {}, help = "context lengths that extend and prompt_opt are exported for" },
  lengths = { "integer", list = true, default = {}, help = "query lengths that extend and prompt_opt are exported for" },
  bits = { "integer", map = true, default = {}, help = "declared bits of the compressed weights of a function" },
  image = { "integer", default = 0, min = 0, help = "image size in pixels; 0: not declared" },
  patch = { "integer", default = 0, min = 0, help = "patch size in pixels" },
  window = { "integer", default = 0, min = 0, help = "window of local attention, in patches" },
  chunk = { "integer", default = 0, min = 0, help = "query chunk of attention, in tokens" },
  waive = { "string", map = true, default = {}, help = "RULE or RULE@NAME: reason; the finding stays in the report and does not kill" },
}

local level = { error = 1, warning = 2, design = 3 }

-- One reason for each rule and what became of it, so that a thousand casts are one line.
local function tell(finding, findings)
  local groups, order = {}, {}
  for _, f in ipairs(findings) do
    local key = f.rule .. "\0" .. (f.waived or "")
    if not groups[key] then
      groups[key] = { first = f, n = 0 }
      order[#order + 1] = groups[key]
    end
    groups[key].n = groups[key].n + 1
  end
  for _, g in ipairs(order) do
    local f = g.first
    local more = g.n > 1 and (" (and %d more)"):format(g.n - 1) or ""
    if f.waived then finding:reason("waived", ("%s: %s%s: waived: %s"):format(f.rule, f.message, more, f.waived), f.where)
    else finding:reason(f.rule, ("%s: %s%s; %s"):format(f.severity, f.message, more, f.way_out), f.where) end
  end
end

-- The cache pattern of each function that has one.
local function patterns(graph)
  local found = {}
  for _, fn in ipairs(graph.functions) do
    local list = caches.patterns(fn)
    if #list > 0 then found[fn.name] = list end
  end
  return next(found) and found
end

local function judge(spec, p, ev, finding)
  local graph = ev:graph "program"
  local others = { source = ev:count "source" > 0 and ev:graph "source" or nil, control = ev:count "control" > 0 and ev:graph "control" or nil,
    config = records.config(ev) }
  local findings, applied, unused = authoring.run(spec.rules, graph, p, others, records.waivers(ev, p.waive))
  local n = authoring.count(findings)
  tell(finding, findings)
  for _, key in ipairs(unused) do finding:reason("waiver_unused", ("the waiver '%s' met no finding; drop it"):format(key)) end
  finding:detail("findings", findings)
  if patterns(graph) then finding:detail("caches", patterns(graph)) end
  if p.loader == "prepared_model" then finding:detail("classifier", classifier.read(classifier.names_of(graph))) end
  finding:metric("rules", applied, "1")
  for _, key in ipairs { "error", "warning", "design", "waived" } do finding:metric(key, n[key], "1") end
  local against = 0
  for key, l in pairs(level) do
    if l <= level[p.fail_on] then against = against + n[key] end
  end
  if against > 0 then return finding:kill("rules_broken", ("%d finding%s of severity %s or worse"):format(against, against > 1 and "s" or "", p.fail_on)) end
  return finding:pass()
end

return function(spec)
  authoring.check_rules(spec.rules or error("rules.gate: field 'rules' is missing", 0))
  return gate_type {
    name = spec.name, version = spec.version or "1.0", summary = spec.summary, params = params,
    needs = function(p, _, req)
      req:program("program", { arm = p.arm })
      if p.control then req:program("control", { arm = p.control }) end
    end,
    judge = function(p, ev, finding) return judge(spec, p, ev, finding) end,
  }
end
