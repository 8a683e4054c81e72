-- Is a recorded table of rotary embeddings the one that the model's configuration asks for? Rows M137, M138, M139.

local arithmetic = { "fp64", "fp32", "fp16" }

-- Distance of a table from a recipe in dB; identical ones count as 200.
local function near(given, recipe)
  local f = given:agreement(given:rope(recipe))
  return f.identical and 200 or f.snr_db
end

local function with(recipe, key, value)
  local out = { part = recipe.part, theta = recipe.theta, pairing = recipe.pairing, angles = recipe.angles, first = recipe.first }
  out[key] = value
  return out
end

-- The base, from the last channel at position 1 that turns by at least 0.2 radian (less is lost in the rounding of a cosine); nil
-- when that row is not in the table.
local function estimate(given, p)
  local rows, dim = given.shape[#given.shape - 1], given.shape[#given.shape]
  local row = 1 - p.first
  if row < 0 or row >= rows then return end
  local flat = given:reshape { given.count // dim, dim }
  for pair = dim // 2 - 1, 1, -1 do
    local v = flat:at(row, p.pairing == "half" and pair or 2 * pair)
    local angle = p.part == "sin" and math.asin(v) or math.acos(v)
    if angle >= 0.2 and angle < 1 then return math.exp(-math.log(angle) * dim / (2 * pair)) end
  end
end

-- Recipes that differ from p in one thing, with what to say of a table that follows them.
local function others(p, guess)
  local list = {
    { with(p, "pairing", p.pairing == "half" and "interleaved" or "half"), "pairing_differs", "channels are paired the other way" },
    { with(p, "part", p.part == "cos" and "sin" or "cos"), "part_differs", "it is the other of cosine and sine" },
    { with(p, "first", p.first + 1), "position_off_by_one", "it starts one position late" },
    { with(p, "first", p.first - 1), "position_off_by_one", "it starts one position early" },
  }
  for _, a in ipairs(arithmetic) do
    if a ~= p.angles then list[#list + 1] = { with(p, "angles", a), "angles_differ", ("its angles were made in %s"):format(a) } end
  end
  for _, theta in ipairs { 10000, 500000, 1000000, guess } do
    if theta ~= p.theta then list[#list + 1] = { with(p, "theta", theta), "theta_differs", ("it was made with theta %.6g, %.6g is declared"):format(theta, p.theta) } end
  end
  return list
end

return gate_type {
  name = "rope_table", version = "1.0", summary = "a table of rotary embeddings follows the declared theta, pairing and arithmetic",
  params = {
    theta = { "number", min = 1, help = "base, from the model's configuration" },
    part = { "string", default = "cos", help = "cos or sin" },
    pairing = { "string", default = "half", help = "half or interleaved" },
    angles = { "string", default = "fp32", help = "arithmetic of the angles: fp64, fp32 or fp16" },
    first = { "integer", default = 0, help = "position of the first row" },
    snr_min_db = { "number", optional = true, help = "what it must reach; default 60 for fp16, 100 for wider tables" },
  },
  needs = function() end,
  judge = function(p, ev, finding)
    local given = ev:tensor "table"
    local limit = p.snr_min_db or (given.dtype == "fp16" and 60 or 100)
    local own, guess = near(given, p), estimate(given, p)
    finding:metric("table.snr_db", own, "dB")
    finding:metric("table.theta_estimated", guess)
    if given.dtype ~= "fp16" and given:to("fp16"):to(given.dtype):equals(given) then
      return finding:kill("table_was_cast", ("every value of this %s table is an fp16 number: it was cast, not made anew in its own type"):format(given.dtype))
    end
    local best, code, text = own, nil, nil
    for _, other in ipairs(others(p, guess)) do
      local db = near(given, other[1])
      if db > best + 6 then best, code, text = db, other[2], other[3] end
    end
    if code and not (own >= limit and code == "angles_differ") then return finding:kill(code, ("%s (%.0f dB against %.0f dB)"):format(text, best, own)) end
    if code then finding:reason(code, text) end
    if not (own >= limit) then return finding:kill("table_differs", ("%.1f dB from the declared table, %.1f are wanted"):format(own, limit)) end
    return finding:pass()
  end,
}
