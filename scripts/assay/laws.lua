-- Laws of attention: what must hold between two outputs of one arm, whatever the right output is. They need no oracle, so they see
-- a fault that the oracle shares. For arms with inputs q, k, v of shape [B, H, S, E].
--
--   fixture { name = "normal", inputs = { q = ..., k = ..., v = ... }, perturb = laws.inputs() }
--   gate { use = "laws", arm = "fused" }
--
-- A law is a table with
--   name
--   change   what is done to the inputs: function(inputs) that returns the changed ones, e.g. { v = inputs.v:scale(2) }
--   before   the same for the output it is compared with; without it that is the output on the inputs as they are
--   breaks   function(c) that returns by how much the law is broken: c.base and c.changed are the outputs, c.q, c.k, c.v the inputs
--   rounding what may differ all the same: "none", "weights" (other sums of the same products), "scores" (other scores, in exact
--            arithmetic the same softmax), or function(c) that returns the largest score and the largest value in the sum
--   needs    "heads" or "batch": the axis that must be longer than 1
--   optional true: only when the gate names it
local laws = { list = {} }

local BATCH, HEAD, TOKEN = 0, 1, 2

-- The tokens cut in four unequal pieces, in another order: no token of a longer sequence keeps its place.
local function reordered(t)
  local n = t.shape[TOKEN + 1]
  local cuts = { 0, n // 7, n // 3, n // 2 + n // 11, n }
  local out
  for _, piece in ipairs { 3, 1, 4, 2 } do
    local from, count = cuts[piece], cuts[piece + 1] - cuts[piece]
    local part = count > 0 and t:slice(TOKEN, from, count) or nil
    if part then out = out and out:concat(part, TOKEN) or part:copy() end
  end
  return out
end

local function constant(t, x) return t:scale(0):plus(x) end

-- The first `count` tokens hold x, the others 0.
local function first_tokens(t, count, x)
  return constant(t:slice(TOKEN, 0, count), x):concat(constant(t:slice(TOKEN, count, t.shape[TOKEN + 1] - count), 0), TOKEN)
end

-- Index 0 of an axis changed, the rest as it is.
local function first_changed(t, axis, change)
  return change(t:slice(axis, 0, 1)):concat(t:slice(axis, 1, t.shape[axis + 1] - 1), axis)
end

local function first_swapped(t) return t:slice(TOKEN, 1, 1):concat(t:slice(TOKEN, 0, 1), TOKEN):concat(t:slice(TOKEN, 2, t.shape[TOKEN + 1] - 2), TOKEN) end
local function second_as_first(t) return t:slice(TOKEN, 0, 1):concat(t:slice(TOKEN, 0, 1), TOKEN):concat(t:slice(TOKEN, 2, t.shape[TOKEN + 1] - 2), TOKEN) end

-- Two equal keys against zeros: their score, and the weight that they have together.
local function hot_score(k)
  local tokens, width = k.shape[3], k.shape[4]
  local wanted = math.max(math.log(math.max(tokens - 2, 1) / 2), 1)
  local component = math.floor(wanted / math.sqrt(width) * 64 + 0.5) / 64   -- a number that every type holds
  return component, component * math.sqrt(width)
end
local function hot_weight(k)
  local _, score = hot_score(k)
  local e = 2 * math.exp(score)
  return e / (e + k.shape[3] - 2)
end

-- Only index 0 of the axis may move, and it must.
local function moves_alone(axis)
  return function(c)
    local n = c.base.shape[axis + 1]
    if c.base:slice(axis, 0, 1):equals(c.changed:slice(axis, 0, 1)) then return math.huge end
    return c.base:slice(axis, 1, n - 1):max_abs_diff(c.changed:slice(axis, 1, n - 1))
  end
end
local function only_first(axis)
  return function(i)
    local out = {}
    for _, name in ipairs { "q", "k", "v" } do out[name] = first_changed(i[name], axis, reordered) end
    return out
  end
end

local function unmoved(c) return c.base:max_abs_diff(c.changed) end

local fields = { name = true, breaks = true, rounding = true, change = true, before = true, needs = true, optional = true }
local roundings = { none = true, weights = true, scores = true }

function laws.add(law)
  for _, field in ipairs { "name", "breaks", "rounding" } do
    if law[field] == nil then error(("laws.add: a law needs the field '%s'"):format(field), 2) end
  end
  for key in pairs(law) do
    if not fields[key] then error(("laws.add: law '%s' has an unknown field '%s'; there are name, breaks, rounding, change, before, needs, optional"):format(law.name, key), 2) end
  end
  if type(law.rounding) ~= "function" and not roundings[law.rounding] then
    error(("laws.add: law '%s': rounding '%s'; use none, weights, scores or a function"):format(law.name, law.rounding), 2)
  end
  laws.list[#laws.list + 1] = law
end

laws.add { name = "keys_permuted", rounding = "weights", breaks = unmoved,   -- pairs of key and value are a set
  change = function(i) return { k = reordered(i.k), v = reordered(i.v) } end }
laws.add { name = "queries_permuted", rounding = "weights",                   -- each query is answered for itself
  change = function(i) return { q = reordered(i.q) } end,
  breaks = function(c) return reordered(c.base):max_abs_diff(c.changed) end }
laws.add { name = "constant_value", rounding = "weights",                     -- the weights of a row sum to 1
  change = function(i) return { v = constant(i.v, 0):plus(i.v:slice(TOKEN, 0, 1)) } end,
  breaks = function(c) return constant(c.changed, 0):plus(c.v:slice(TOKEN, 0, 1)):max_abs_diff(c.changed) end }
laws.add { name = "convex_hull", rounding = "weights",                        -- and none is negative
  breaks = function(c) return c.base:beyond(c.v:lowest(TOKEN), c.v:highest(TOKEN)) end }
laws.add { name = "scores_shifted", rounding = "scores", breaks = unmoved,    -- a constant added to a query's scores
  change = function(i) return { k = i.k:plus(i.k:slice(TOKEN, 0, 1)) } end }
laws.add { name = "value_doubled", rounding = "weights",
  change = function(i) return { v = i.v:scale(2) } end,
  breaks = function(c) return c.base:scale(2):max_abs_diff(c.changed) / 2 end }
laws.add { name = "heads_independent", rounding = "none", needs = "heads", change = only_first(HEAD), breaks = moves_alone(HEAD) }
laws.add { name = "batch_independent", rounding = "none", needs = "batch", change = only_first(BATCH), breaks = moves_alone(BATCH) }
laws.add { name = "equal_keys", rounding = "weights", breaks = unmoved,       -- equal keys weigh the same
  before = function(i) return { k = second_as_first(i.k) } end,
  change = function(i) return { k = second_as_first(i.k), v = first_swapped(i.v) } end }
laws.add { name = "doubled_key",                                              -- a key twice has twice the weight; knows the scale
  rounding = function(c) return select(2, hot_score(c.k)), 1 end,
  change = function(i)
    return { q = constant(i.q, 1), k = first_tokens(i.k, 2, (hot_score(i.k))), v = first_tokens(i.v, 2, 1) }
  end,
  breaks = function(c) return constant(c.changed, hot_weight(c.k)):max_abs_diff(c.changed) end }
laws.add { name = "masked_keys", rounding = "none", optional = true, breaks = unmoved,   -- masked keys can hold anything
  change = function(i, masked)
    local function rest(t)
      local n = t.shape[TOKEN + 1]
      return t:slice(TOKEN, 0, masked):concat(constant(t:slice(TOKEN, masked, n - masked), 7), TOKEN)
    end
    return { k = rest(i.k), v = rest(i.v) }
  end }

local function changed_inputs(change, names, masked)
  return function(inputs)
    local out, changed = {}, change({ q = inputs[names.q], k = inputs[names.k], v = inputs[names.v] }, masked)
    for name, t in pairs(inputs) do out[name] = t end
    for part, t in pairs(changed) do out[names[part]] = t end
    return out
  end
end

-- For fixture { perturb = laws.inputs() }. spec.q, .k, .v: names of the inputs; spec.masked_from: the first masked key.
function laws.inputs(spec)
  spec = spec or {}
  local names, out = { q = spec.q or "q", k = spec.k or "k", v = spec.v or "v" }, {}
  for _, law in ipairs(laws.list) do
    if not law.optional or spec.masked_from then
      if law.change then out["law." .. law.name] = changed_inputs(law.change, names, spec.masked_from) end
      if law.before then out["law." .. law.name .. ".before"] = changed_inputs(law.before, names, spec.masked_from) end
    end
  end
  return out
end

-- An arm with projections: its attention alone, with inputs of its own in the place of q, k, v: the values of these
-- names (before any scale), else the operands of a fused op. What lies before the cut is not judged.
local cut_names = { q = "law_q", k = "law_k", v = "law_v" }
function laws.cut(m)
  local fused = m:find "scaled_dot_product_attention" [1]
  for _, pair in ipairs { { "q", "query" }, { "k", "key" }, { "v", "value" } } do
    local part, operand = pair[1], pair[2]
    local old = m:value(part) or fused and fused:arg(operand)
    if not old then error(("laws.cut: the program has neither a value named '%s' nor a fused attention"):format(part), 0) end
    m:replace(old, m:input(cut_names[part], old.shape, old.dtype))
  end
  m:remove_dead()
end

-- The laws on an arm with projections, as words of the experiment: a second arm, cut so, and the gate on it. The fixture holds
-- inputs law_q, law_k, law_v beside the arm's own and perturb = laws.inputs(laws.names).
laws.names = cut_names
function laws.on(name)
  local alone = name .. ".attention"
  return {
    arm { name = alone, role = "candidate", like = name, rewrite = laws.cut },
    gate { use = "laws", arm = alone, source = alone, query = cut_names.q, key = cut_names.k, value = cut_names.v },
  }
end

-- Spacing of the output's type, and room for sums of many products in it.
local unit = { fp16 = 2 ^ -11, bf16 = 2 ^ -8, fp32 = 2 ^ -20, fp64 = 2 ^ -46 }

-- Largest difference that rounding explains: eight roundings of the largest value, and for changed scores as much for each score.
local function allowed(law, c)
  if law.rounding == "none" then return 0 end
  local score, value = 0, c.v:max_abs()
  if law.rounding == "scores" then score = 2 * c.q:row_norm() * c.k:row_norm() / math.sqrt(c.k.shape[4]) end
  if type(law.rounding) == "function" then score, value = law.rounding(c) end
  return unit[c.base.dtype] * (8 + 4 * score) * value
end

local function chosen(p)
  local out, all = {}, #(p.laws or {}) == 0
  for _, law in ipairs(laws.list) do
    local named = all and not law.optional
    for _, name in ipairs(p.laws or {}) do named = named or name == law.name end
    if named then out[#out + 1] = law end
  end
  return out
end

local function check_names(p)
  for _, name in ipairs(p.laws or {}) do
    local known, names = false, {}
    for i, law in ipairs(laws.list) do known, names[i] = known or law.name == name, law.name end
    if not known then error(("laws: no law '%s'; there are %s"):format(name, table.concat(names, ", ")), 0) end
  end
end

local function needs(p, _, req)
  check_names(p)
  local source = p.source == "" and "@reference" or p.source
  for _, role in ipairs { "query", "key", "value" } do
    req:output(role, { arm = source, fixture = p.fixture, output = p[role], label = "inputs" })
  end
  req:output("base", { arm = p.arm, fixture = p.fixture, label = "as_it_is" })
  for _, law in ipairs(chosen(p)) do
    local name = "law." .. law.name
    if law.change then req:output("changed", { arm = p.arm, fixture = p.fixture, perturb = { named = name }, label = law.name }) end
    if law.before then req:output("base", { arm = p.arm, fixture = p.fixture, perturb = { named = name .. ".before" }, label = law.name }) end
  end
end

-- Does the law's change leave these inputs as they are, so that two equal calls would be compared?
local function without_change(law, c)
  if not law.change or law.optional then return false end
  local before = law.before and law.before(c) or {}
  for part, t in pairs(law.change(c)) do
    if not t:equals(before[part] or c[part]) then return false end
  end
  return true
end

-- Why a law cannot be asked of this fixture; nil when it can.
local function not_applied(law, c)
  local axis = ({ batch = 1, heads = 2 })[law.needs]
  if axis and c.base.shape[axis] < 2 then return "there is one of the " .. law.needs .. " only" end
  if without_change(law, c) then return "its change leaves these inputs as they are" end
end

local function judge_law(law, c, finding)
  local deviation, limit = law.breaks(c), allowed(law, c)
  finding:metric(("law:%s.deviation"):format(law.name), deviation, "tensor")
  finding:metric(("law:%s.allowed"):format(law.name), limit, "tensor")
  if deviation <= limit and limit < math.huge then return nil end
  return ("off by %.4g, rounding explains %.4g"):format(deviation, limit)
end

local function judge(p, ev, finding)
  check_names(p)
  local c = { q = ev:tensor("query", "inputs"), k = ev:tensor("key", "inputs"), v = ev:tensor("value", "inputs") }
  for role, t in pairs { query = c.q, key = c.k, value = c.v } do
    if not t:finite() or role == "value" and not (t:max_abs() > 0) then
      return finding:invalid("inputs_without_signal", ("the %s is not finite, or nothing but zeros: no law can fail on it"):format(role), role)
    end
  end
  local as_it_is, broken, held = ev:tensor("base", "as_it_is"), {}, 0
  for _, law in ipairs(chosen(p)) do
    c.base = law.before and ev:tensor("base", law.name) or as_it_is
    c.changed = law.change and ev:tensor("changed", law.name) or nil
    local without = not_applied(law, c)
    local why = not without and judge_law(law, c, finding)
    if without then finding:detail("not_applied." .. law.name, without)
    elseif why then broken[#broken + 1] = { law.name, why }
    else held = held + 1 end
  end
  finding:metric("laws_held", held, "laws")
  for i = 2, #broken do finding:reason("law_broken", broken[i][1] .. ": " .. broken[i][2], broken[i][1]) end
  if #broken > 0 then return finding:kill("law_broken", broken[1][1] .. ": " .. broken[1][2], broken[1][1]) end
  if not (as_it_is:max_abs() > 0) then return finding:inconclusive("output_without_signal", "the arm gives nothing but zeros, on which most laws hold") end
  if held == 0 then return finding:inconclusive("nothing_decided", "no law could be asked of this fixture") end
  return finding:pass()
end

-- The gate with all laws that were added so far, under a name of its own. In an experiment's script, which has no word for gate
-- files, the library itself: so one file can be both `use`d as a gate and required for its laws.
function laws.gate(name)
  local in_gate, word = pcall(function() return gate_type end)
  if not in_gate then return laws end
  return word {
    name = name, version = "1.0", summary = "laws of attention that hold whatever the right output is",
    params = {
      laws = { "string", list = true, optional = true, help = "laws to ask for (default: all but the optional ones)" },
      source = { "string", default = "", help = "arm whose program has these inputs (default: the experiment's reference)" },
      query = { "string", default = "q", help = "name of an input" },
      key = { "string", default = "k", help = "likewise" },
      value = { "string", default = "v", help = "likewise" },
    },
    needs = needs, judge = judge,
  }
end

return laws
