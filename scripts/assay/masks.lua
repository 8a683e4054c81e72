-- Attention masks. A mask is plain data ({ form, kind, ... }) that a build function turns into a constant:
--   with = { mask = mask.key_padding { valid = 600, kind = "bool" } }
-- kind: how it is written: "bool" (true = takes part), "float_finite" (0 and -10000), "float_neginf" (0 and -infinity).
local masks = {}

local kinds = { bool = true, float_finite = -10000, float_neginf = -math.huge }

local function check(spec, what)
  local kind = spec.kind or "bool"
  if not kinds[kind] then error(("%s: kind = '%s'; use bool, float_finite or float_neginf"):format(what, kind), 3) end
  return kind
end

-- Keys 0 .. valid-1 take part. `valid`: one number, or one per batch row (0: that row is fully masked).
function masks.key_padding(spec)
  if not spec.valid then error("key_padding: valid = number of keys that take part", 2) end
  return { form = "key_padding", kind = check(spec, "key_padding"), valid = spec.valid }
end

-- Query i sees keys 0 .. i.
function masks.causal(spec)
  return { form = "causal", kind = check(spec or {}, "causal") }
end

local function padding_row(valid, S)
  if valid < 0 or valid > S then error(("key_padding: valid = %d of %d keys"):format(valid, S), 0) end
  local yes = assay.full({ value = 1, shape = { 1, 1, 1, valid }, dtype = "bool" }):tensor()
  local no = assay.full({ value = 0, shape = { 1, 1, 1, S - valid }, dtype = "bool" }):tensor()
  if valid == S then return yes end
  if valid == 0 then return no end
  return yes:concat(no, 3)
end

-- The mask as booleans, true = takes part: [1 or B, 1, 1, S] or [1, 1, S, S].
local function as_bool(spec, s)
  if spec.form == "causal" then return assay.band({ shape = { 1, 1, s.S, s.S }, above = 0, dtype = "bool" }):tensor() end
  if type(spec.valid) ~= "table" then return padding_row(spec.valid, s.S) end
  local rows
  for _, valid in ipairs(spec.valid) do
    local row = padding_row(valid, s.S)
    rows = rows and rows:concat(row, 0) or row
  end
  if rows.shape[1] ~= s.B then error(("key_padding: %d entries in `valid` for a batch of %d"):format(rows.shape[1], s.B), 0) end
  return rows
end

-- The constant in the mask's own kind; nil without a mask. s: sizes B, S.
function masks.tensor(spec, s, precision)
  if not spec then return nil end
  local bool = as_bool(spec, s)
  if spec.kind == "bool" then return bool end
  return bool:choose(0, kinds[spec.kind], precision)
end

-- The mask as numbers to add to the scores; `masked` is what a boolean mask becomes.
function masks.additive(spec, s, precision, masked)
  if not spec then return nil end
  return as_bool(spec, s):choose(0, spec.kind == "bool" and masked or kinds[spec.kind], precision)
end

-- The same mask, written another way.
function masks.as(spec, kind)
  local copy = {}
  for k, v in pairs(spec) do copy[k] = v end
  copy.kind = kind
  check(copy, "as")
  return copy
end

return masks
