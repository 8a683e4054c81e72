-- Control flow, custom ops, size, and what belongs to the exporter.
local flow = require "rules.flow"

local NE, GPU = { "neural-engine" }, { "gpu" }

-- Bytes of all constants; `once`: equal ones, as functions share them, are counted once (which reads them all).
local function weight_bytes(graph, once)
  local bits, seen = 0, {}
  for _, fn in ipairs(graph.functions) do
    for _, v in ipairs(flow.constants(fn)) do
      local key = once and v.data and v.data:digest() or v
      if not seen[key] then
        seen[key] = true
        bits = bits + (v.bits or 0)
      end
    end
  end
  return bits / 8
end

return {
  { id = "control_flow", rows = { "M90", "M169" }, severity = "error", profiles = NE, sources = { "guide 3" },
    summary = "no branches and no loops",
    way_out = "unroll the loop over its static length, or export a function for each branch",
    each = "op", ops = { "cond", "while_loop" },
    check = function(op, say) say(("control flow: %s"):format(op.type)) end },

  { id = "chunk_loop", rows = { "M169", "M244" }, severity = "warning", profiles = GPU, sources = { "guide 5.7", "guide 11.3" },
    summary = "the eager chunk option is left unset, so that no loop over tokens is traced",
    way_out = "leave eager_chunk_size at None for export; a loop that the model needs gets a waiver",
    each = "op", ops = { "while_loop" },
    check = function(_, say) say "a loop is left in the graph" end },

  { id = "custom_op", rows = { "M93" }, severity = "error", profiles = NE, sources = { "guide 3" },
    summary = "custom kernels exist on the GPU only",
    way_out = "spell the op with standard ones, or choose the gpu profile",
    each = "op",
    check = function(op, say)
      if not op.known and (op.type:find "custom" or op.type:find "kernel" or op.type:find "::") then say(("op '%s'"):format(op.type)) end
    end },

  { id = "model_size", rows = { "M92" }, severity = "error", profiles = NE, sources = { "guide 3" },
    summary = "a model for iOS stays under 2 GB",
    way_out = "compress where the bytes are, or split the model; on macOS leave 6 GB of headroom (a reading of the machine, not of the file)",
    each = "program",
    check = function(graph, say, cx)
      local limit = cx.facts.weight_limit_bytes
      local bytes = weight_bytes(graph, false)
      if bytes >= limit and #graph.functions > 1 then bytes = weight_bytes(graph, true) end
      if bytes >= limit then say(("%.0f bytes of weights, the limit is %.0f"):format(bytes, limit)) end
    end },

  { id = "hand_constraints", rows = { "M110" }, severity = "design", profiles = NE, sources = { "guide 4.3" },
    summary = "memory constraints are the exporter's business",
    way_out = "leave HardwareConstraints out; the layout rules are what matters",
    each = "program",
    check = function(graph, say)
      for key, text in pairs(graph.metadata) do
        if (key .. " " .. text):lower():find "hardware_?constraints" then say(("metadata '%s' holds hand-written constraints"):format(key)) end
      end
    end },
}
