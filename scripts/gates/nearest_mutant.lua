-- Gate: which known fault does a failing candidate look like? It asks for the outputs of mutants only where the candidate is far from
-- the reference, and there on the fixture where it is farthest. It stands in for the table of bands and causes (M184).
local IDENTICAL_DB = 300                         -- stands for no difference at all: float64 rounding lies below

-- SNR of x against y in dB; 0 where y is zero and x is not.
local function near_db(x, y)
  local a = x:agreement(y)
  if a.identical then return IDENTICAL_DB end
  return a.snr_db == a.snr_db and math.min(a.snr_db, IDENTICAL_DB) or 0
end

-- The fixture where the candidate is farthest from the reference: { fixture, db }; nil when the candidate is not finite.
local function farthest(ev)
  local worst
  for _, fixture in ipairs(ev:labels "candidate") do
    local candidate = ev:tensor("candidate", fixture)
    if not candidate:finite() then return nil end
    local db = near_db(candidate, ev:tensor("reference", fixture))
    if not worst or db < worst.db then worst = { fixture = fixture, db = db } end
  end
  return worst
end

-- The first fixture whose reference shows nothing: not finite, zero, or empty.
local function without_signal(ev)
  for _, fixture in ipairs(ev:labels "candidate") do
    local reference = ev:tensor("reference", fixture)
    if not reference:finite() or not (reference:max_abs() > 0) then return fixture end
  end
end

-- The mutants by how near they are to the candidate, nearest first. One that cannot be told from the reference here explains nothing.
local function ranked(p, ev, at)
  local candidate, reference, list = ev:tensor("candidate", at.fixture), ev:tensor("reference", at.fixture), {}
  for _, name in ipairs(p.mutants) do
    local mutant = ev:tensor(name, at.fixture)
    if mutant:finite() and near_db(mutant, reference) < p.close_db then
      list[#list + 1] = { name = name:match "^mutant%.(.+)" or name, db = near_db(candidate, mutant) }
    end
  end
  table.sort(list, function(a, b) return a.db > b.db end)
  return list
end

local function db_text(db) return db >= IDENTICAL_DB and "identical" or ("%.1f dB"):format(db) end

return gate_type {
  name = "nearest_mutant", version = "1.0", summary = "a failing candidate is named after the known fault that it looks like",
  params = {
    mutants = { "string", list = true, default = {}, help = "arms that are wrong in one known way" },
    close_db = { "number", default = 50, min = 0, help = "SNR from which on an output needs no explanation" },
    gap_db = { "number", default = 10, min = 0, help = "how much nearer than the reference a mutant must be" },
  },
  needs = function(p, ev, req)
    for _, fixture in ipairs(p.fixtures) do
      req:output("reference", { arm = "@reference", fixture = fixture })
      req:output("candidate", { arm = p.arm, fixture = fixture })
    end
    if ev:count "candidate" == 0 then return end
    local at = farthest(ev)
    if not at or at.db >= p.close_db or without_signal(ev) then return end
    for _, name in ipairs(p.mutants) do req:output(name, { arm = name, fixture = at.fixture }) end
  end,
  judge = function(p, ev, finding)
    local dark = without_signal(ev)
    if dark then return finding:invalid("reference_without_signal", "the reference is not finite, or nothing but zeros: no distance is defined", dark) end
    local at = farthest(ev)
    if not at then return finding:inconclusive("not_finite", "the candidate is not finite: no distance to a mutant is defined") end
    finding:metric("snr_db", at.db, "dB")
    if at.db >= p.close_db then return finding:pass() end
    local list = ranked(p, ev, at)
    local nearest, next_one = list[1], list[2]
    if not nearest then return finding:inconclusive("no_mutant", "no mutant differs from the reference on fixture " .. at.fixture, at.fixture) end
    finding:metric("nearest_db", nearest.db, "dB")
    if next_one then finding:metric("runner_up_db", next_one.db, "dB") end
    local runner_up = next_one and ("; runner-up %s, %s"):format(next_one.name, db_text(next_one.db)) or ""
    if not (nearest.db - at.db >= p.gap_db) then
      return finding:inconclusive("no_mutant_near", ("looks like no known fault: nearest %s, %s, the reference %s%s"):format(nearest.name,
        db_text(nearest.db), db_text(at.db), runner_up), at.fixture)
    end
    return finding:kill("matches_mutant", ("matches %s: %s from it, %s from the reference%s"):format(nearest.name, db_text(nearest.db), db_text(at.db),
      runner_up), at.fixture)
  end,
}
