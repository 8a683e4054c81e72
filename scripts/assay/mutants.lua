-- Mutants: arms that are wrong in one known way. `assay mutate` runs each through the gates of an experiment and prints which
-- gates see it. The faults stand in assay.faults; a mutant is one function that changes the program of the control, like
-- arm { mutate = ... }.
local faults, surgery = require "assay.faults", require "assay.surgery"

local mutants = {
  list = {},
  -- Gates that mutants run through; add the name of a gate of your own.
  judged = { parity = true, dead_path = true, sensitivity = true, laws = true, token_flip = true },
  base = false,                     -- name of the arm that is changed, when it is not the control
}

-- Adds a mutant of your own, in the script of the experiment: mutants.add("name", function(m) ... end). `needs`: features that
-- the control must have, blank separated (none: any control will do); surgery.features lists them.
function mutants.add(name, change, needs)
  mutants.list[#mutants.list + 1] = { name = name, change = change, needs = needs or "" }
end

-- Adds a mutant that is another arm built with other values: mutants.add_with("loop_state_lost", "loop", { state = "lost" }).
function mutants.add_with(name, like, with)
  mutants.list[#mutants.list + 1] = { name = name, like = like, with = with, needs = "" }
end

-- Forgets all mutants: an experiment about faults of its own then adds only those.
function mutants.clear() mutants.list = {} end

for _, family in ipairs { "attention", "mask", "rotary", "activation", "inputs" } do
  for _, fault in ipairs(faults[family]) do mutants.add(fault[1], fault[2], fault[3] and family .. " " .. fault[3] or family) end
end

local function fits(mutant, features)
  for feature in mutant.needs:gmatch "%S+" do
    if not features[feature] then return false end
  end
  return true
end

-- The mutants of these names in the order of the list; without names, all.
local function chosen(names)
  if not names then return mutants.list end
  local by_name, all, out = {}, {}, {}
  for _, mutant in ipairs(mutants.list) do
    by_name[mutant.name] = mutant
    all[#all + 1] = mutant.name
  end
  for _, name in ipairs(names) do
    if not by_name[name] then error(("mutants: no mutant '%s'%s"):format(name, assay.did_you_mean(name, all)), 0) end
    out[#out + 1] = by_name[name]
  end
  return out
end

-- An arm for a mutant. One that does not fit the control leaves it as it is.
local function arm_of(mutant, like, role, inputs)
  if mutant.with then return arm { name = "mutant." .. mutant.name, role = role, like = mutant.like, with = mutant.with } end
  return arm { name = "mutant." .. mutant.name, role = role, like = like, mutate = function(m)
    if fits(mutant, surgery.features(m)) then mutant.change(m, { inputs = inputs }) end
  end }
end

-- Mutants that a run must reject, as arms of role must_fail: mutants.must_fail { control = "explicit", "scale_twice", ... }
function mutants.must_fail(spec)
  local out = {}
  for _, mutant in ipairs(chosen(spec)) do out[#out + 1] = arm_of(mutant, spec.control, "must_fail", {}) end
  return out
end

-- The gate nearest_mutant with its arms, for a run: after a kill it says which mutant the candidate looks like.
-- mutants.diagnosis { arm = "fused", control = "explicit" [, mutants = { names }] }
function mutants.diagnosis(spec)
  local out, names = {}, {}
  for _, mutant in ipairs(chosen(spec.mutants)) do
    out[#out + 1] = arm_of(mutant, spec.control, "mutant", {})
    names[#names + 1] = "mutant." .. mutant.name
  end
  out[#out + 1] = gate { use = "nearest_mutant", arm = spec.arm, control = spec.control, mutants = names, after_kill = true }
  return out
end

-- Words of an experiment, its nested lists opened.
local function words(list, out)
  for _, item in ipairs(list) do
    if next(item) == 1 and type(item[1]) == "table" then words(item, out) else out[#out + 1] = item end
  end
  return out
end

local function copied(item)
  local out = {}
  for key, value in pairs(item) do
    if type(key) == "string" then out[key] = value end
  end
  return out
end

local function is_mutant(w) return w.role and w.name and w.name:match "^mutant%." end

-- What the experiment with mutants keeps of the given one.
local function taken_apart(e)
  local kept = { words = {}, gates = {}, inputs = {} }
  for _, w in ipairs(words(e, {})) do
    if is_mutant(w) then goto continue end
    if w.role == "control" then kept.control = w.name end
    if w.role == "candidate" then kept.candidate = kept.candidate or w.name end
    if w.inputs and not next(kept.inputs) then kept.inputs = w.inputs end
    if mutants.judged[w.use or 0] then kept.gates[#kept.gates + 1] = w end
    if w.use == "power" then kept.power = w end
    if w.role or w.inputs or w.recipe or w.file or w.program or (w.precision and w.arm) or w.cut then kept.words[#kept.words + 1] = w end
    ::continue::
  end
  if not kept.control or not kept.candidate then error("mutate: the experiment needs an arm of role control and one of role candidate", 0) end
  if #kept.gates == 0 then error("mutate: the experiment has no gate parity, dead_path or sensitivity", 0) end
  return kept
end

-- The candidate's gates for another arm. What the must_fail and negative arms show, the candidate's own gates show.
local function judged_as(kept, name, out)
  for _, g in ipairs(kept.gates) do
    if (g.arm or kept.candidate) == kept.candidate then
      local params = copied(g)
      params.arm = name
      if name ~= kept.candidate then params.must_fail, params.negative = {}, {} end
      out[#out + 1] = gate(params)
    end
  end
end

-- { MUTANT = why }: said of mutants that run, each with a reason.
local function check_equivalents(said, ran)
  for name, why in pairs(said or {}) do
    if not ran["mutant." .. name] then
      local all = {}
      for arm_name in pairs(ran) do all[#all + 1] = arm_name:sub(8) end
      table.sort(all)
      error(("equivalent_mutants: no mutant '%s' runs here%s"):format(name, assay.did_you_mean(tostring(name), all)), 0)
    end
    if type(why) ~= "string" or why == "" then error(("equivalent_mutants.%s: expected the reason, a text"):format(name), 0) end
  end
end

-- The experiment that `assay mutate` runs: the same fixtures and reference; first the question whether the fixtures can show
-- anything, if the experiment asks it; then the similarity gates, once for the candidate and once for every mutant that fits.
-- Called by assay with the experiment that the script returned; tools.program(NAME) builds an arm.
function mutants.experiment(e, tools)
  local kept, out, names, ran = taken_apart(e), copied(e), {}, {}
  local base = mutants.base or kept.control
  local features = surgery.features(tools.program(base))
  for i, w in ipairs(kept.words) do out[i] = w end
  out[#out + 1] = kept.power
  judged_as(kept, kept.candidate, out)
  for _, mutant in ipairs(chosen(e.mutants)) do
    if fits(mutant, features) then
      out[#out + 1] = arm_of(mutant, base, "mutant", kept.inputs)
      judged_as(kept, "mutant." .. mutant.name, out)
      names[#names + 1] = "mutant." .. mutant.name
      ran["mutant." .. mutant.name] = true
    elseif e.mutants then error(("mutate: mutant '%s' needs %s, which arm '%s' does not have"):format(mutant.name, mutant.needs, base), 0)
    end
  end
  check_equivalents(e.equivalent_mutants, ran)
  if tools.diagnose then out[#out + 1] = gate { use = "nearest_mutant", arm = kept.candidate, mutants = names } end
  out.stop = "never"
  return experiment(out)
end

return mutants
