-- Table-driven tests of rules: pair.ne(T, rule, rows, { wrong, right, facts, says, ... }) adds to T a test that exactly `rule` fires on
-- the wrong program and none on the right one (default: the profile's clean program). rows: the rule's rows as marks, "M95_both M226_both".
local authoring = require "rules.authoring"
local pack = require "rules.pack"

local pair = { tested = {} }                      -- tested: by rule

local defaults = { framework = "coreml", loader = "unknown", kv = "undeclared", weight_limit_bytes = 2e9, kernel_max = 8, contexts = {}, lengths = {}, bits = {},
  image = 0, patch = 0, window = 0, chunk = 0 }

local function facts_of(profile, extra)
  local facts = { profile = profile }
  for key, value in pairs(defaults) do facts[key] = value end
  for key, value in pairs(extra or {}) do facts[key] = value end
  return facts
end

-- A build function returns one output or a list; nothing: it set the outputs itself.
local function graph_of(build, opset)
  local m = t.mil { opset = opset }
  local out = build(m)
  if out then
    if type(out) == "table" then t.outputs(m, table.unpack(out)) else t.outputs(m, out) end
  end
  return t.graph(m)
end

function pair.graph(build) return graph_of(build) end

function pair.findings(profile, build, extra, others)
  return authoring.run(pack, graph_of(build, extra and extra.opset), facts_of(profile, extra), others, extra and extra.waive)
end

local function show(findings)
  local list = {}
  for _, f in ipairs(findings) do list[#list + 1] = ("%s %s: %s"):format(f.rule, f.where, f.message) end
  return #list > 0 and table.concat(list, "; ") or "nothing"
end

local function rule_of(id)
  for _, r in ipairs(pack) do
    if r.id == id then return r end
  end
  error("no rule " .. id, 0)
end

local function others_of(spec)
  local others = {}
  for _, role in ipairs { "source", "control" } do
    if spec[role] then others[role] = graph_of(spec[role]) end
  end
  return others
end

local function check(profile, id, rows, spec, clean)
  local r = rule_of(id)
  t.equal(table.concat(r.rows, "_both ") .. "_both", rows)
  local wrong = pair.findings(profile, spec.wrong, spec.facts, others_of(spec))
  for _, f in ipairs(wrong) do
    if f.rule ~= id then error(("the wrong program of %s also meets: %s"):format(id, show(wrong)), 0) end
  end
  if #wrong == 0 then error(("%s is silent on its wrong program"):format(id), 0) end
  for _, text in ipairs(spec.says or {}) do
    if not show(wrong):find(text, 1, true) then error(("'%s' is not in: %s"):format(text, show(wrong)), 0) end
  end
  local right = pair.findings(profile, spec.right or clean, spec.right_facts or spec.facts, others_of(spec))
  if #right > 0 then error(("the right program of %s meets: %s"):format(id, show(right)), 0) end
end

local function adder(profile)
  return setmetatable({}, { __call = function(self, T, id, rows, spec)
    local clean = self.clean
    pair.tested[id] = true
    T[("%s_%s_%s"):format(rows:gsub(" ", "_"), id, profile == "gpu" and "gpu" or "ne")] = function() check(profile, id, rows, spec, clean) end
  end })
end
pair.ne, pair.gpu = adder "neural-engine", adder "gpu"

-- ---- pieces of programs
local n = 0
function pair.weight(shape, dtype)
  n = n + 1
  return assay.normal({ label = "rules/" .. n, shape = shape, dtype = dtype or "fp16" })
end

function pair.conv(m, x, spec)
  local rank = spec.kernel and #spec.kernel or 2
  local shape = { spec.out, spec["in"] // (spec.groups or 1) }
  for i = 1, rank do shape[#shape + 1] = spec.kernel and spec.kernel[i] or 1 end
  local ones, zeros = {}, {}
  for i = 1, rank do ones[i], zeros[2 * i - 1], zeros[2 * i] = 1, 0, 0 end
  return m:conv { x = x, weight = spec.weight or pair.weight(shape), strides = spec.strides or ones, pad_type = spec.pad_type or "same", pad = zeros,
    dilations = spec.dilations or ones, groups = spec.groups or 1, name = spec.name or "conv" }
end

function pair.conv1x1(m, x, from, to, name) return pair.conv(m, x, { ["in"] = from, out = to, name = name, pad_type = "valid" }) end

return pair
