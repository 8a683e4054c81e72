-- Is a recorded mask of a read-only KV cache the one that its place in the decode asks for? Rows M21, M22, M25, M32, M33, M147.

-- Whether query j of a call sees slot k (k < slots) or the call's own key k - slots.
local past_rules = {
  ["k >= t"] = function(t, _, k) return k < t end,
  ["k >= t + j"] = function(t, j, k) return k < t + j end,
  ["k > t"] = function(t, _, k) return k <= t end,
}
local future_rules = {
  ["m > j"] = function(j, m) return m <= j end,
  ["m >= j"] = function(j, m) return m < j end,
  ["m > j + 1"] = function(j, m) return m <= j + 1 end,
}
local past_names, future_names = { "k >= t", "k >= t + j", "k > t" }, { "m > j", "m >= j", "m > j + 1" }

-- Rows of booleans, true = takes part; nil and the reason when an element is neither open nor closed.
local function read(mask)
  local queries, keys = mask.shape[#mask.shape - 1], mask.shape[#mask.shape]
  local flat, rows = mask:reshape { queries, keys }, {}
  local boolean = mask.dtype == "bool"
  for j = 0, queries - 1 do
    rows[j + 1] = {}
    for k = 0, keys - 1 do
      local v = flat:at(j, k)
      if v ~= v then return nil, "nan_in_mask", ("NaN at query %d, key %d"):format(j, k) end
      if not boolean and v ~= 0 and not (v <= -1000) then return nil, "mask_value", ("%g at query %d, key %d: neither 0 nor a large negative number"):format(v, j, k) end
      rows[j + 1][k + 1] = boolean and v ~= 0 or not boolean and v == 0
    end
  end
  return rows
end

-- Elements that differ from a rule, and the first of them.
local function differing(rows, rule)
  local n, at = 0, nil
  for j, row in ipairs(rows) do
    for k, open in ipairs(row) do
      local sees
      if k <= rule.slots then sees = past_rules[rule.past](rule.t, j - 1, k - 1) else sees = future_rules[rule.future](j - 1, k - 1 - rule.slots) end
      if rule.inverted then sees = not sees end
      if sees ~= open then n, at = n + 1, at or { j - 1, k - 1 } end
    end
  end
  return n, at
end

-- Known wrong rules that give exactly these rows, in words; the simplest first.
local function known_as(rows, p)
  local queries = #rows
  for _, inverted in ipairs { false, true } do
    for _, offset in ipairs { 0, queries } do
      for _, past in ipairs(past_names) do
        for _, future in ipairs(future_names) do
          if differing(rows, { t = p.t + offset, slots = p.slots, past = past, future = future, inverted = inverted }) == 0 then
            return ("masked where %s or %s%s%s"):format(past, future, offset > 0 and ", with t = chunk_end" or "", inverted and ", inverted" or "")
          end
        end
      end
    end
  end
end

return gate_type {
  name = "kv_mask", version = "1.0", summary = "a recorded mask equals the one rebuilt from t, the call's tokens and the cache's slots",
  params = {
    t = { "integer", min = 0, help = "tokens in the cache when the call starts (chunk_start)" },
    slots = { "integer", min = 1, help = "keys the cache holds; the call's own keys follow" },
    past = { "string", default = "k >= t", help = "slots masked for query j: k >= t, k >= t + j, k > t" },
    future = { "string", default = "m > j", help = "own keys masked for query j: m > j, m >= j, m > j + 1" },
  },
  needs = function() end,
  judge = function(p, ev, finding)
    local mask = ev:tensor "mask"
    local rank = #mask.shape
    if not past_rules[p.past] then return finding:invalid("unknown_rule", ("past = '%s'; known are k >= t, k >= t + j, k > t"):format(p.past)) end
    if not future_rules[p.future] then return finding:invalid("unknown_rule", ("future = '%s'; known are m > j, m >= j, m > j + 1"):format(p.future)) end
    if rank < 2 or mask.count ~= mask.shape[rank - 1] * mask.shape[rank] then return finding:kill("mask_shape", "expected one matrix of queries and keys") end
    local queries = mask.shape[rank - 1]
    if mask.shape[rank] ~= p.slots + queries then
      return finding:kill("mask_shape", ("%d keys for %d slots and %d queries: expected %d"):format(mask.shape[rank], p.slots, queries, p.slots + queries))
    end
    local rows, code, why = read(mask)
    if not rows then return finding:kill(code, why) end
    local n, at = differing(rows, p)
    finding:metric("mask.differing", n)
    if n == 0 then return finding:pass() end
    local other = known_as(rows, p)
    if other then finding:reason("known_rule", "the mask is " .. other) end
    return finding:kill("mask_differs", ("%d elements differ from the rule %s, %s at t = %d"):format(n, p.past, p.future, p.t), ("query %d, key %d"):format(at[1], at[2]))
  end,
}
