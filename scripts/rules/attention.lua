-- How attention is spelled: fused or by head, where the scale stands, which axis is normalised.
local flow = require "rules.flow"
local scores = require "rules.scores"

local NE, GPU, BOTH = { "neural-engine" }, { "gpu" }, { "neural-engine", "gpu" }

local function opset_number(fn) return tonumber(fn.opset:match "(%d+)$") or 0 end

-- Queries of one attention cut into slices: a list of { query, query, ..., first = site } for each key.
local function slices(fn)
  return flow.once(fn, "query_slices", function()
    local map, order = {}, {}
    for _, site in ipairs(fn.sites) do
      if site.query_slices and site.key and site.query then
        if not map[site.key] then
          map[site.key] = { first = site }
          order[#order + 1] = map[site.key]
        end
        table.insert(map[site.key], site.query)
      end
    end
    return order
  end)
end

return {
  { id = "fused_attention", rows = { "M83", "M130" }, severity = "warning", profiles = NE, sources = { "guide 4.10", "report 2" },
    applies = function(p) return p.framework == "coreai" end,
    summary = "attention is computed head by head",
    way_out = "split queries, keys and values by head; in Core ML the report saw the fused op placed on the Neural Engine of a base M1, which says nothing about Core AI",
    exempt = { "framework = coreml, where the fused op is the thing under test" },
    each = "site",
    check = function(site, say)
      if site.fused then say "one op for all heads: the guide says that Core AI has no such path on this unit" end
    end },

  { id = "per_head_loop", rows = { "M83" }, severity = "warning", profiles = GPU, sources = { "guide 2", "guide 5.3" },
    summary = "one op for all heads",
    way_out = "use the fused attention; the loop over heads is what the Neural Engine wants",
    each = "fn",
    check = function(fn, say)
      local n, first = 0, nil
      for _, site in ipairs(fn.sites) do
        if site.unrolled_heads then n, first = n + 1, first or site end
      end
      if first then say(("%d attentions of one head each"):format(n), first) end
    end },

  { id = "fused_lost", rows = { "M162", "M217", "M239" }, severity = "warning", profiles = GPU, sources = { "guide 5.3", "guide 10 row 16" },
    summary = "the fused attention survives conversion",
    way_out = "look at what broke the pattern: a scale, an unusual mask, an old target; then look at the program again, not at the exit status",
    exempt = { "programs for targets before iOS 18, which have no such op", "attention in slices or by head (other rules)" },
    each = "site",
    check = function(site, say, cx)
      if not site.fused and not site.unrolled_heads and not site.query_slices and opset_number(cx.fn) >= 8 then say "attention as products around a softmax" end
    end },

  { id = "scale_after_product", rows = { "M131" }, severity = "warning", profiles = NE, sources = { "guide 4.10" },
    summary = "the scale is applied to the key or the query before the product",
    way_out = "scale the key first: unscaled scores can leave the range of fp16",
    exempt = { "the fused op, which scales inside", "fp32" },
    each = "site",
    check = function(site, say)
      if site.scale_after and site.query and site.query.dtype == "fp16" then say "the scores are scaled, not what they are made of" end
    end },

  { id = "softmax_channel", rows = { "M120", "M231" }, severity = "warning", profiles = NE, sources = { "guide 4.8" },
    summary = "the softmax of attention runs over the channel axis",
    way_out = "lay the scores out as [B, key, head, query] and normalise over axis 1",
    exempt = { "the fused op", "softmax elsewhere (a classifier's is small)" },
    each = "fn",
    check = function(fn, say)
      for _, s in ipairs(scores.of(fn)) do
        if s.axis ~= 2 and s.keys == s.axis then say(("axis %d of %d"):format(s.axis - 1, s.softmax.out.rank), s.softmax) end
      end
    end },

  { id = "softmax_keys", rows = { "M34" }, severity = "error", profiles = BOTH, sources = { "guide 4.8" },
    summary = "the softmax runs over the keys",
    way_out = "normalise over the axis that the second product sums over: 1 for [B, key, head, query], -1 for [B, head, query, key]",
    exempt = { "layouts between softmax and product that cannot be followed (reshape)" },
    each = "fn",
    check = function(fn, say)
      for _, s in ipairs(scores.of(fn)) do
        if s.keys and s.keys ~= s.axis then say(("normalised over axis %d, the keys are axis %d"):format(s.axis - 1, s.keys - 1), s.softmax) end
      end
    end },

  { id = "query_chunk", rows = { "M134" }, severity = "design", profiles = NE, sources = { "guide 4.10" },
    summary = "the query chunk divides the sequence",
    way_out = "derive the chunk from the geometry (24 x 24 patches = 576), so that none is left over",
    each = "fn",
    check = function(fn, say)
      for _, parts in ipairs(slices(fn)) do
        local one, last = parts[1], parts[#parts]
        for axis, n in ipairs(one.shape) do
          if n ~= last.shape[axis] then say(("chunks of %d and a remainder of %d"):format(n, last.shape[axis]), parts.first) end
        end
      end
    end },
}
