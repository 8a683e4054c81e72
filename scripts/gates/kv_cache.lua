-- Did the host write exactly the slots [t, t + n) of a cache, with what the call returned? Rows M142, M143, M186, M205, M219.

-- Roles that are known mistakes, where they are given: code and text.
local mistakes = {
  { "raw", "key_before_rotation", "the slots hold the key before its rotation" },
  { "other", "key_value_swapped", "the slots hold the call's other output" },
}

local function last_axis(t) return #t.shape - 1 end

-- Slots start .. start+n-1 of a cache.
local function slots(t, start, n) return t:slice(last_axis(t), start, n) end

-- The first slot outside [t, t + n) that has changed.
local function changed_outside(before, after, t, n)
  for i = 0, before.shape[#before.shape] - 1 do
    if (i < t or i >= t + n) and not slots(before, i, 1):equals(slots(after, i, 1)) then return i end
  end
end

-- Where else the new slots stand.
local function found_at(after, new, n)
  for i = 0, after.shape[#after.shape] - n do
    if slots(after, i, n):equals(new) then return i end
  end
end

return gate_type {
  name = "kv_cache", version = "1.0", summary = "the host wrote the returned keys or values into slots [t, t + n) and nothing else",
  params = { t = { "integer", min = 0, help = "tokens in the cache when the call starts" } },
  needs = function() end,
  judge = function(p, ev, finding)
    local before, after, new = ev:tensor "before", ev:tensor "after", ev:tensor "new"
    local n, size = new.shape[#new.shape], before.shape[#before.shape]
    if table.concat(before.shape, ",") ~= table.concat(after.shape, ",") then return finding:kill("shape_mismatch", "the cache has changed its shape") end
    if p.t + n > size then return finding:kill("cache_full", ("%d tokens from slot %d do not fit %d slots"):format(n, p.t, size)) end
    finding:metric("cache.slots_written", n)
    local outside = changed_outside(before, after, p.t, n)
    if slots(after, p.t, n):equals(new) then
      if not outside then return finding:pass() end
      return finding:kill("written_outside", ("slot %d has changed; the call owns %d .. %d"):format(outside, p.t, p.t + n - 1), ("slot %d"):format(outside))
    end
    for _, other in ipairs(mistakes) do
      if ev:count(other[1]) > 0 and slots(after, p.t, n):equals(ev:tensor(other[1])) then return finding:kill(other[2], other[3]) end
    end
    local where = found_at(after, new, n)
    if where then return finding:kill("written_elsewhere", ("the new slots stand at %d, not at %d"):format(where, p.t), ("slot %d"):format(where)) end
    return finding:kill("not_written", ("slots %d .. %d do not hold what the call returned"):format(p.t, p.t + n - 1))
  end,
}
