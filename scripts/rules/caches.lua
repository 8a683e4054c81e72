-- Key-value caches of a function: which inputs they are, who joins them and who writes them, and the pattern that makes.
local flow = require "rules.flow"

local caches = {}

function caches.is_cache(v) return (v.input and v.name:lower():find "cache") ~= nil and v.rank >= 4 end

local function cut(op) return flow.is_layout(op) or op.type:find "^slice_by" ~= nil or op.type == "split" or op.type == "read_state" or op.type == "gather" end

local function cache_behind(v)
  local from = flow.back(v, cut)
  return caches.is_cache(from) and from or nil
end

-- "key", "value" or nil, by name.
function caches.side(cache)
  for word in cache.name:gsub("(%l)(%u)", "%1 %2"):lower():gmatch "%a+" do
    if word == "k" or word:find "^key" then return "key" end
    if word == "v" or word:find "^val" then return "value" end
  end
end

-- { op, cache, new, first }: concatenations of a cache with what is new.
function caches.concats(fn)
  return flow.once(fn, "cache_concats", function()
    local list = {}
    for _, op in ipairs(flow.by_type(fn).concat or {}) do
      local parts = op.lists.values or {}
      for i, v in ipairs(parts) do
        local cache = #parts == 2 and cache_behind(v)
        if cache then list[#list + 1] = { op = op, cache = cache, new = parts[3 - i], first = i == 1 } end
      end
    end
    return list
  end)
end

-- Ops that write into a cache that came in as a plain input.
function caches.writes(fn)
  return flow.once(fn, "cache_writes", function()
    local list = {}
    for _, type in ipairs { "slice_update", "scatter", "scatter_nd", "scatter_along_axis" } do
      for _, op in ipairs(flow.by_type(fn)[type] or {}) do
        local x = op.args.x or op.args.data
        local cache = x and cache_behind(x)
        if cache then list[#list + 1] = { op = op, cache = cache } end
      end
    end
    return list
  end)
end

function caches.states(fn)
  local list = {}
  for _, v in ipairs(fn.inputs) do
    if v.kind == "state" then list[#list + 1] = v end
  end
  return list
end

local function updates(fn)
  return flow.by_type(fn).coreml_update_state or flow.by_type(fn).write_state
end

-- The patterns a function uses, as words.
function caches.patterns(fn)
  local list = {}
  if #caches.states(fn) > 0 and updates(fn) then list[#list + 1] = "state" end
  for _, w in ipairs(caches.writes(fn)) do
    if w.cache.kind == "tensor" then
      list[#list + 1] = "write"
      break
    end
  end
  for _, c in ipairs(caches.concats(fn)) do
    if c.cache.kind == "tensor" then
      list[#list + 1] = "read_only"
      break
    end
  end
  return list
end

return caches
