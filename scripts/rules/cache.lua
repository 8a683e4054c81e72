-- Key-value caches: who writes them, in which shape, and what is given back.
local flow = require "rules.flow"
local caches = require "rules.caches"

local NE, GPU, BOTH = { "neural-engine" }, { "gpu" }, { "neural-engine", "gpu" }

-- Is v rotated: computed from cos and sin inputs, this side of the layer it comes from?
local function rotated(v)
  return flow.depends(v, flow.is_position_input, function(op) return flow.weight(op) ~= nil or op.type == "softmax" or op.type == "scaled_dot_product_attention" end)
end

local function given_back(fn, new)
  local source = flow.source(new)
  for _, out in ipairs(fn.outputs) do
    if flow.source(out) == source then return true end
  end
  return false
end

-- The axis (from 1) along which a write is shorter than its cache, leaving out the layers; nil: none or several.
local function written_axis(w)
  local x, update = w.op.args.x, w.op.args.update
  local axis
  if not x or not update or x.rank ~= update.rank then return nil end
  for i = 1, x.rank do
    if x.shape[i] ~= update.shape[i] and not (i == 1 and x.rank == 5) then
      if axis then return nil end
      axis = i
    end
  end
  return axis
end

local function channels_form(v) return v.shape[v.rank - 1] == 1 end

local function say_shape(fn, say, wrong, wanted, axis_behind)
  for _, v in ipairs(fn.inputs) do
    if caches.is_cache(v) and wrong(v) then say(("%s, wanted is %s"):format(flow.shape_text(v), wanted), v) end
  end
  for _, w in ipairs(caches.writes(fn)) do
    local axis = written_axis(w)
    if axis and not wrong(w.cache) and axis ~= w.op.args.x.rank - axis_behind then say(("written along axis %d"):format(axis - 1), w.op) end
  end
end

return {
  { id = "cache_shape", rows = { "M87" }, severity = "warning", profiles = NE, sources = { "guide 4.13" },
    summary = "a cache is [layers, B, Hkv*D, 1, S] and grows along its last axis",
    way_out = "fold the heads into the channels, keep the sequence last",
    exempt = { "inputs whose names do not say cache" },
    each = "fn",
    check = function(fn, say) say_shape(fn, say, function(v) return not channels_form(v) end, "[layers, B, Hkv*D, 1, S]", 0) end },

  { id = "cache_shape_gpu", rows = { "M87" }, severity = "warning", profiles = GPU, sources = { "guide 5.6" },
    summary = "a cache is [layers, B, Hkv, S, D] and grows along axis 3",
    way_out = "keep the heads apart, the sequence in front of the head's channels",
    exempt = { "inputs whose names do not say cache" },
    each = "fn",
    check = function(fn, say) say_shape(fn, say, channels_form, "[layers, B, Hkv, S, D]", 1) end },

  { id = "stateful_decode", rows = { "M88", "M210" }, severity = "error", profiles = BOTH, sources = { "guide 4.13", "guide 10 row 9" },
    summary = "state is declared before it is used",
    way_out = "pass caches in and out as tensors; or declare kv = state and show with two calls that it survives (the shipped path does so)",
    applies = function(p) return p.kv ~= "state" end,
    each = "fn",
    check = function(fn, say)
      for _, v in ipairs(caches.states(fn)) do say(("state %s"):format(flow.shape_text(v)), v) end
    end },

  { id = "cache_write", rows = { "M140" }, severity = "error", profiles = BOTH, sources = { "guide 4.13" },
    summary = "a read-only cache is not written in the model",
    way_out = "return the new keys and values; the host writes them",
    applies = function(p) return p.kv == "read_only" end,
    each = "fn",
    check = function(fn, say)
      for _, w in ipairs(caches.writes(fn)) do say(("writes into %s"):format(w.cache.name), w.op) end
    end },

  { id = "cache_concat", rows = { "M141" }, severity = "error", profiles = NE, sources = { "guide 4.13" },
    summary = "keys and values are concat(cache, new) along the last axis",
    way_out = "put the cache first and concatenate along axis -1",
    each = "fn",
    check = function(fn, say)
      for _, c in ipairs(caches.concats(fn)) do
        local axis = flow.number(c.op, "axis") or 0
        if axis < 0 then axis = axis + c.op.out.rank end
        if axis ~= c.op.out.rank - 1 then say(("along axis %d of %d"):format(axis, c.op.out.rank), c.op)
        elseif not c.first then say("what is new stands before the cache", c.op) end
      end
    end },

  { id = "cache_rotation", rows = { "M142", "M205", "M230" }, severity = "error", profiles = BOTH, sources = { "guide 4.13", "guide 10 row 4" },
    summary = "what is given back for the cache is what attention used: the rotated key, the plain value",
    way_out = "return the key behind the rotation; a cached plain key is met unrotated by the next call",
    exempt = { "functions without cos and sin inputs, whose rotation cannot be told", "caches whose names say neither key nor value" },
    each = "fn",
    check = function(fn, say)
      local rotary = false
      for _, v in ipairs(fn.inputs) do rotary = rotary or flow.is_position_input(v) end
      for _, c in ipairs(rotary and caches.concats(fn) or {}) do
        local which = caches.side(c.cache)
        if which == "key" and not rotated(c.new) then say("the key is cached before its rotation", c.op)
        elseif which == "value" and rotated(c.new) then say("the value is rotated", c.op)
        elseif which and not given_back(fn, c.new) then say(("%s is used here, but no output gives it back"):format(c.new.name), c.op) end
      end
    end },

  { id = "cache_pattern", rows = { "M146" }, severity = "error", profiles = BOTH, sources = { "guide 4.13" },
    summary = "one pattern of caching, the declared one",
    way_out = "choose read-only (tensors in, new keys out) or state, and declare it with kv",
    exempt = { "state that was not declared (stateful_decode), writes under kv = read_only (cache_write)" },
    each = "fn",
    check = function(fn, say, cx)
      local found, declared = caches.patterns(fn), cx.facts.kv
      if #found > 1 then return say(("mixed: %s"):format(table.concat(found, " and "))) end
      local is = found[1]
      if not is or declared == "undeclared" or is == declared or is == "write" and declared == "read_only" or is == "state" then return end
      say(("%s, declared is %s"):format(is, declared))
    end },

  { id = "state_names", rows = { "M166", "M241", "M242" }, severity = "warning", profiles = GPU, sources = { "guide 5.6" },
    summary = "states are called keyCache and valueCache",
    way_out = "give state_names = (\"keyCache\", \"valueCache\") at conversion: the runtime looks for these",
    exempt = { "states of fewer than four axes (counters)" },
    each = "fn",
    check = function(fn, say)
      for _, v in ipairs(caches.states(fn)) do
        if v.rank >= 4 and v.name ~= "keyCache" and v.name ~= "valueCache" then say(("a state called '%s'"):format(v.name), v) end
      end
    end },

  { id = "prefill_output", rows = { "M153" }, severity = "design", profiles = NE, sources = { "guide 4.15" },
    summary = "prefill computes no logits",
    way_out = "return one element of each cache, summed: cheap, and it keeps the writes alive",
    exempt = { "functions not called prompt_opt", "outputs of one element" },
    each = "fn",
    check = function(fn, say)
      for _, out in ipairs(fn.name:find "^prompt_opt" and fn.outputs or {}) do
        local from = flow.back(out, function(op) return not flow.weight(op) and (flow.is_layout(op) or flow.is_elementwise(op)) end)
        if (out.count or 2) > 1 and from.op and flow.weight(from.op) and flow.is_head(from.op) then say(("%s comes from the head"):format(flow.shape_text(out)), out) end
      end
    end },
}
