-- Fixtures: recipes for inputs and weights. A recipe is made when a plan is materialised; the same recipe gives the same bytes
-- on every machine. Sizes: "d750" = [2, 750, 1280], "mini" = [2, 30, 256], both fp16.
local fx = {}

local function named(name)
  return function(size) return assay.fixture(name, size) end
end

fx.normal = named "normal"                      -- the base case
fx.normal_poked = named "normal-poked"          -- normal, one token changed
fx.hot_token = named "hot-token"                -- one dominant token
fx.repeated = named "repeat"                    -- rows ten apart are equal
fx.alternate = named "alternate"                -- cancellation
fx.near_max_sparse = named "near-max-sparse"    -- overflow in the projections
fx.denormal = named "denormal"                  -- subnormal inputs
fx.zeros = named "zeros"
fx.constant = named "constant"
fx.halves_equal = named "halves-equal"          -- both batch rows are equal
fx.silence = named "silence"                    -- processor output for silence through the stand-in stem (d750)
fx.speech = named "speech"                      -- processor output for speech through the stand-in stem (d750)

-- Seeded normal numbers of any shape: fx.seeded { label = "mine/x", shape = { 1, 16, 64 }, scale = 1, dtype = "fp16" }
fx.seeded = assay.normal

-- A file (.npy), relative to the script.
fx.file = assay.npy

-- Projections of width D (1280 or 256): q and k with the given gain (1: flat attention, 2.5: peaked), v with gain 1; no k bias.
function fx.wset(D, gain)
  local size = ({ [1280] = "d750", [256] = "mini" })[D]
  if not size then error(("wset(%s): widths are 1280 and 256; use fx.projections for others"):format(D), 2) end
  return {
    q = assay.weight("wq", size, gain), k = assay.weight("wk", size, gain), v = assay.weight("wv", size),
    bq = assay.weight("bq", size), bv = assay.weight("bv", size),
  }
end

-- A misspelt field would silently take its default.
local function only_fields(who, spec, known)
  local set = {}
  for _, name in ipairs(known) do set[name] = true end
  for key in pairs(spec) do
    if not set[key] then error(("%s: unknown field '%s'%s"):format(who, key, assay.did_you_mean(tostring(key), known)), 3) end
  end
end

-- Projections of any width, seeded by a label: fx.projections { label = "mine", width = 64, out = 64, gain = 1 }
function fx.projections(spec)
  only_fields("fx.projections", spec, { "label", "width", "out", "gain" })
  if not spec.label or not spec.width then error("fx.projections: label and width are needed", 2) end
  local D, out, gain = spec.width, spec.out or spec.width, spec.gain or 1
  local function matrix(name, g)
    return assay.normal { label = spec.label .. "/w/" .. name, shape = { out, D }, scale = g / math.sqrt(D) }
  end
  local function bias(name)
    return assay.normal { label = spec.label .. "/b/" .. name, shape = { out }, scale = 0.125 }
  end
  return { q = matrix("q", gain), k = matrix("k", gain), v = matrix("v", 1), bq = bias "q", bv = bias "v" }
end

-- q, k, v [2, 20, 750, 64] with an exact answer: "coords-s" "coords-hd" "coords-b" "uniform" "ladder-16" ...
function fx.attention(name)
  return { q = assay.attention(name, "q"), k = assay.attention(name, "k"), v = assay.attention(name, "v") }
end

-- Seeded normal numbers for every declared input of a package.
function fx.package_inputs(path, label)
  local inputs = {}
  for _, input in ipairs(assay.package_inputs(path)) do
    inputs[input.name] = assay.normal { label = (label or "fx/package") .. "/" .. input.name, shape = input.shape, dtype = input.dtype }
  end
  return inputs
end

return fx
