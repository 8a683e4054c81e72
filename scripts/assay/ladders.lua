-- Ladders: published lists of dB limits, one rung for each step on the way from a source to what runs on the device. They contradict
-- each other (4-bit weights pass at 35 dB in one, at 40 in another), so an experiment names the one it means; there is no default. Rows M176-M179, M181, M183.
--
--   gate { use = "ladder", ladder = "guide-B", rungs = { "fp32=wide", "fp16=fused", "4-bit=small against fused" } }
--
-- A ladder is a list of rungs with
--   name     what the step is called
--   pass     at least this: pass.  Between kill and pass: investigate, inconclusive.  Below kill: kill
--   measure  "psnr_db" (default), "snr_db", "cosine" or "gain_error" (the smaller the better)
--   dtype    type that both sides must have: "fp32" also takes fp64
--   parts    names of rungs that must be measured as well: what is composed of parts shows nothing while a part is unknown (M172)
-- Limits of the ladders guide-A, guide-B and guide-C are those of the authoring guide (M175 to M180), of report those of the fused
-- attention report, of coremltools-example and coreai-models-tests what these projects ask of their own examples (M250), of
-- calibration-4 the whole-tensor letters C, P, S and G of docs/reference/statistics.md.
local ladders = { list = {} }

local fields = { name = true, pass = true, kill = true, measure = true, dtype = true, parts = true }
local measures = { psnr_db = true, snr_db = true, cosine = true, gain_error = true }

-- Why a rung would not be judged as it was meant, or nil.
local function fault_of(rung)
  if not rung.name or not rung.pass then return "needs name and pass" end
  for key in pairs(rung) do
    if not fields[key] then return ("has an unknown field '%s'; there are name, pass, kill, measure, dtype, parts"):format(key) end
  end
  if not measures[rung.measure or "psnr_db"] then return ("has no measure '%s'; there are psnr_db, snr_db, cosine, gain_error"):format(rung.measure) end
end

function ladders.add(ladder)
  if type(ladder.name) ~= "string" then error("ladders.add: a ladder needs a name", 2) end
  for _, rung in ipairs(ladder) do
    local fault = fault_of(rung)
    if fault then error(("ladders.add: a rung of '%s' %s"):format(ladder.name, fault), 2) end
  end
  ladders.list[#ladders.list + 1] = ladder
end

ladders.add { name = "guide-A",
  { name = "re-authored", pass = 70, dtype = "fp32" }, { name = "layout", pass = 70 },
  { name = "compiled", pass = 40 }, { name = "4-bit", pass = 35 } }
ladders.add { name = "guide-B",
  { name = "fp32", pass = 70, kill = 60, dtype = "fp32" }, { name = "fp16", pass = 50, kill = 40 }, { name = "4-bit", pass = 40, kill = 30 } }
ladders.add { name = "guide-C",
  { name = "8-bit", pass = 55, kill = 50 }, { name = "4-bit", pass = 40, kill = 35 }, { name = "2-bit", pass = 35, kill = 25 } }
ladders.add { name = "bottom-up",
  { name = "norm", pass = 70, dtype = "fp32" }, { name = "projection", pass = 70, dtype = "fp32" },
  { name = "attention", pass = 70, dtype = "fp32", parts = { "norm", "projection" } }, { name = "mlp", pass = 70, dtype = "fp32", parts = { "norm", "projection" } },
  { name = "block", pass = 70, dtype = "fp32", parts = { "norm", "projection", "attention", "mlp" } } }
ladders.add { name = "coremltools-example", { name = "fused", pass = 40 } }
ladders.add { name = "coreai-models-tests", { name = "fused", pass = 29.5 } }
ladders.add { name = "report", { name = "fused", pass = 0.9999, measure = "cosine" } }
ladders.add { name = "calibration-4",
  { name = "C", pass = 0.9999, measure = "cosine" }, { name = "P", pass = 40 }, { name = "S", pass = 40, measure = "snr_db" },
  { name = "G", pass = 0.01, measure = "gain_error" } }

local function named(list, what, name)
  local names = {}
  for i, item in ipairs(list) do
    if item.name == name then return item end
    names[i] = item.name
  end
  error(("ladder: no %s '%s'; there are %s"):format(what, tostring(name), table.concat(names, ", ")), 0)
end

-- "RUNG=ARM" or "RUNG=ARM against ARM" into its parts.
local function step_of(text, ladder)
  local rung, rest = text:match "^([^=]+)=(.+)$"
  if not rung then error(("ladder: rung '%s' is not of the form RUNG=ARM or RUNG=ARM against ARM"):format(text), 0) end
  local arm, against = rest:match "^(.-) against (.+)$"
  return { rung = named(ladder, "rung of " .. ladder.name, rung), arm = arm or rest, against = against or "@reference" }
end

local function needs(p, _, req)
  local ladder = named(ladders.list, "ladder", p.ladder)
  if #(p.rungs or {}) == 0 then error("ladder: rungs are needed, such as rungs = { \"" .. ladder[1].name .. "=ARM\" }", 0) end
  for _, text in ipairs(p.rungs) do
    local step = step_of(text, ladder)
    req:output("candidate", { arm = step.arm, fixture = p.fixture, label = step.rung.name })
    req:output("reference", { arm = step.against, fixture = p.fixture, label = step.rung.name })
  end
end

local function wide_enough(t, dtype) return not dtype or t.dtype == dtype or (dtype == "fp32" and t.dtype == "fp64") end

-- "pass", "investigate" or "kill", and the figure. Identical tensors have no noise and meet every rung.
local function place(rung, figures)
  local measure = rung.measure or "psnr_db"
  if measure == "gain_error" then
    local off = math.abs(figures.gain - 1)
    return off <= rung.pass and "pass" or rung.kill and off <= rung.kill and "investigate" or "kill", off
  end
  local value = figures[measure]
  if figures.identical and measure:find "_db$" then return "pass", value end
  return value >= rung.pass and "pass" or rung.kill and value >= rung.kill and "investigate" or "kill", value
end

local function sentence(rung, value, lost)
  local limit = rung.kill and ("pass from %.6g, kill below %.6g"):format(rung.pass, rung.kill) or ("%.6g is wanted"):format(rung.pass)
  return ("%s: %s %.6g, %s%s"):format(rung.name, rung.measure or "psnr_db", value, limit, lost == lost and (", %.3g dB lost at this rung"):format(lost) or "")
end

local codes = { kill = "rung_failed", investigate = "rung_to_investigate" }

-- The first measured rung that is made of parts of which one was not measured, in words; nil when there is none.
local function without_parts(ladder, given)
  for _, rung in ipairs(ladder) do
    local missing = {}
    for _, part in ipairs(given[rung.name] and rung.parts or {}) do
      if not given[part] then missing[#missing + 1] = part end
    end
    if #missing > 0 then return ("%s is made of parts that were not measured: %s"):format(rung.name, table.concat(missing, ", ")), rung.name end
  end
end

-- In the order of the ladder: the first rung that was measured has lost nothing yet.
local function judge(p, ev, finding)
  local ladder, before, worst, first = named(ladders.list, "ladder", p.ladder), 0 / 0, "pass", nil
  local given = {}
  for _, label in ipairs(ev:labels "candidate") do given[label] = true end
  local measured = 0
  for _, rung in ipairs(ladder) do
    if given[rung.name] then
      local c, r = ev:tensor("candidate", rung.name), ev:tensor("reference", rung.name)
      if not wide_enough(c, rung.dtype) or not wide_enough(r, rung.dtype) then
        return finding:invalid("rung_needs_" .. rung.dtype, ("%s compares %s with %s"):format(rung.name, c.dtype, r.dtype), rung.name)
      end
      if not r:finite() or not (r:max_abs() > 0) then
        return finding:invalid("reference_without_signal", rung.name .. ": the reference is not finite, or nothing but zeros: no dB is defined", rung.name)
      end
      local figures = c:agreement(r)
      local band, value = place(rung, figures)
      local lost = before - figures.psnr_db
      before, measured = figures.psnr_db, measured + 1
      for key, number in pairs { psnr_db = figures.psnr_db, snr_db = figures.snr_db, cosine = figures.cosine, db_lost = lost } do
        finding:metric(("rung:%s.%s"):format(rung.name, key), number, key == "cosine" and "1" or "dB")
      end
      finding:detail("band." .. rung.name, band)
      if band ~= "pass" then
        finding:reason(codes[band], sentence(rung, value, lost), rung.name)
        if worst ~= "kill" then worst, first = band, rung.name end
      end
    end
  end
  if measured == 0 then return finding:not_measured("evidence_missing", "no rung of the ladder was measured") end
  if worst == "kill" then return finding:kill("ladder_failed", "the first rung that fails is " .. first, first) end
  local why, where = without_parts(ladder, given)
  if why then return finding:inconclusive("parts_not_measured", why, where) end
  if worst == "investigate" then return finding:inconclusive("ladder_to_investigate", "between pass and kill at " .. first, first) end
  return finding:pass()
end

-- The gate with all ladders that were added so far; see laws.gate.
function ladders.gate(name)
  local in_gate, word = pcall(function() return gate_type end)
  if not in_gate then return ladders end
  return word {
    name = name, version = "1.0", summary = "each step from the source to the device keeps the dB of a named ladder",
    params = {
      ladder = { "string",
        help = "guide-A, guide-B, guide-C, bottom-up, report, coremltools-example, coreai-models-tests, calibration-4, or one of your own; there is no default" },
      rungs = { "string", list = true, optional = true, help = "RUNG=ARM or RUNG=ARM against ARM; without `against` the experiment's reference" },
    },
    needs = needs, judge = judge,
  }
end

return ladders
