-- The JSON files that a gate of rules reads beside the program: waivers, and the model's config.json.
local records = {}

local sizes = { "head_dim", "hidden_size", "num_attention_heads", "num_key_value_heads" }

-- The one record of a role as a table; nil when none was given. `form` says what it must hold. (An empty list reads like {}.)
local function object_of(ev, role, form)
  local n = ev:count(role)
  if n == 0 then return nil end
  if n > 1 then error(("%s: one file is expected, got %d"):format(role, n), 0) end
  local record = ev:record(role)
  if type(record) ~= "table" or #record > 0 then error(("%s: %s is expected"):format(role, form), 0) end
  return record
end

-- Waivers of the parameter `given` and of the record `waivers`, which wins: { RULE or RULE@NAME: reason }.
function records.waivers(ev, given)
  local all = {}
  for key, reason in pairs(given) do all[key] = reason end
  for key, reason in pairs(object_of(ev, "waivers", "a record { \"RULE or RULE@NAME\": \"reason\" }") or {}) do
    if type(reason) ~= "string" then error(("waiver '%s': the reason is a text, got a %s"):format(key, type(reason)), 0) end
    all[key] = reason
  end
  return all
end

-- config.json of the model; the sizes that rules compare are whole numbers, or absent.
function records.config(ev)
  local config = object_of(ev, "config", "the model's configuration, an object such as { \"head_dim\": 64 },")
  for _, key in ipairs(sizes) do
    local v = config and config[key]
    if v ~= nil and (math.type(v) ~= "integer" or v < 1) then
      error(("config: %s: expected a whole number of at least 1, got %s"):format(key, type(v) == "number" and v or "a " .. type(v)), 0)
    end
  end
  return config
end

return records
