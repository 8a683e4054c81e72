-- Attention masks: shape, orientation, and what stands for "takes no part".
local flow = require "rules.flow"
local scores = require "rules.scores"

local NE, GPU, BOTH = { "neural-engine" }, { "gpu" }, { "neural-engine", "gpu" }
local ROOM = -60000                               -- below it fp16 leaves less than 5504 for the score that is added
local CELLS_MAX = 1 << 18                         -- larger constant masks are not rebuilt element by element

local function each_constant(fn, check)
  for _, mask in ipairs(scores.all_masks(fn)) do
    local c = scores.constant(mask.value)
    if c and flow.is_float(c) then
      local n = c.number
      local stats = c.data and c.data:stats() or n and
        { nan = n ~= n and 1 or 0, neg_inf = n == -math.huge and 1 or 0, min = (n == n and n ~= -math.huge) and n or math.huge }
      if stats then check(mask, stats, c) end
    end
  end
end

local function masked(c, i)
  local v = c.data and c.data:at(i) or c.number
  if c.dtype == "bool" then return v == 0 end
  return v < -1000
end

-- Index of the element of constant c that meets key k and query q; nil when c does not span both axes.
local function cell(c, rank, keys, query, k, q)
  local index, offset = 0, rank - c.rank
  for axis = 1, c.rank do
    local at = axis + offset == keys and k or axis + offset == query and q or 0
    index = index * c.shape[axis] + at
  end
  return index
end

local function spans(c, rank, keys, query)
  local a, b = keys - (rank - c.rank), query - (rank - c.rank)
  return a >= 1 and b >= 1 and c.shape[a] > 1 and c.shape[b] > 1, c.shape[a], c.shape[b]
end

-- Constant masks over keys and queries: check(mask, constant, rank, keys axis, query axis, number of keys, of queries).
local function each_square(fn, check)
  for _, mask in ipairs(scores.all_masks(fn)) do
    local c = scores.constant(mask.value)
    local s = mask.attention
    local rank = mask.query and mask.query.rank or s and s.product.out.rank
    local keys = mask.query and rank or s and s.keys
    local query = mask.query and rank - 1 or s and scores.query_axis(s)
    if c and c == flow.source(mask.value) and keys and query and c.rank <= rank and (c.data or c.number) then
      local both, n_keys, n_queries = spans(c, rank, keys, query)
      if both then check(mask, c, rank, keys, query, n_keys, n_queries) end
    end
  end
end

local function orientation(fn, say)
  each_square(fn, function(mask, c, rank, keys, query, n_keys, n_queries)
    if n_keys ~= n_queries then return end
    local future = masked(c, cell(c, rank, keys, query, n_keys - 1, 0))
    local past = masked(c, cell(c, rank, keys, query, 0, n_queries - 1))
    if past and not future then say(("axis %d holds the keys, and the first key is hidden from the last query"):format(keys - 1), mask.op) end
  end)
end

-- Cached and new keys of an attention whose keys are concat(cache, new): number of cached ones, or nil.
local function cached_keys(mask)
  local site_key = mask.query and mask.op.args.key or nil
  local s = mask.attention
  local sources = site_key and { site_key } or { scores.operands(s.product) }
  for _, v in ipairs(sources) do
    local from = flow.back(v, function(op) return op.type == "mul" or op.type == "split" or flow.is_layout(op) end)
    local parts = from.op and from.op.type == "concat" and from.op.lists.values
    local axis = parts and flow.number(from.op, "axis")
    if axis and parts[1].input then return parts[1].shape[axis < 0 and axis + parts[1].rank + 1 or axis + 1] end
  end
end

-- Where a read-only mask departs from: cached key k hidden where k >= t + j, new key m hidden where m > j.
local function read_only_fault(c, at, n_past, n_queries)
  local t = 0
  while t < n_past and not masked(c, at(t, 0)) do t = t + 1 end
  for j = 0, n_queries - 1 do
    for k = 0, n_past - 1 do
      if masked(c, at(k, j)) ~= (k >= t + j) then return ("cached key %d and query %d, with t = %d"):format(k, j, t) end
    end
    for m = 0, n_queries - 1 do
      if masked(c, at(n_past + m, j)) ~= (m > j) then return ("new key %d and query %d%s"):format(m, j, m == j and ": a query must see itself" or "") end
    end
  end
end

-- { kind = sentinel or "bool" } of the masks of a graph, as text.
local function kinds(graph)
  local set, list = {}, {}
  for _, fn in ipairs(graph.functions) do
    for _, mask in ipairs(scores.all_masks(fn)) do
      local c = scores.constant(mask.value)
      if mask.value.dtype == "bool" or c and c.dtype == "bool" then set["bool"] = true end
    end
    each_constant(fn, function(_, stats) set[stats.neg_inf > 0 and "float with -inf" or ("float with %g"):format(stats.min)] = true end)
  end
  for key in pairs(set) do list[#list + 1] = key end
  return table.concat(list, ", ")
end

local function shape_grows(mask)
  if mask.query then
    local m, q = mask.value, mask.query
    if m.rank > q.rank then return true end
    for axis = 1, m.rank - 2 do
      local of_query = q.shape[axis + q.rank - m.rank]
      if m.shape[axis] > 1 and of_query and of_query > 0 and m.shape[axis] > of_query then return true end
    end
    return false
  end
  if mask.op.out.rank ~= mask.scores.rank then return true end
  for axis, n in ipairs(mask.op.out.shape) do
    if n > 0 and mask.scores.shape[axis] > 0 and n ~= mask.scores.shape[axis] then return true end
  end
  return false
end

return {
  { id = "mask_shape", rows = { "M23" }, severity = "error", profiles = BOTH, sources = { "report 3" },
    summary = "a mask broadcasts to the scores, never the scores to the mask",
    way_out = "give the mask the sizes of the scores, or 1",
    exempt = { "sizes that are not known" },
    each = "fn",
    check = function(fn, say)
      for _, mask in ipairs(scores.all_masks(fn)) do
        if shape_grows(mask) then say(("mask %s enlarges what it masks"):format(flow.shape_text(mask.value)), mask.op) end
      end
    end },

  { id = "mask_nan", rows = { "M25" }, severity = "error", profiles = BOTH, sources = { "report 3" },
    summary = "no NaN stands in a mask",
    way_out = "write a finite number or, on the GPU, -inf",
    each = "fn",
    check = function(fn, say)
      each_constant(fn, function(mask, stats)
        if stats.nan > 0 then say(("%d NaN"):format(stats.nan), mask.op) end
      end)
    end },

  { id = "mask_infinite", rows = { "M30", "M204", "M222" }, severity = "error", profiles = NE, sources = { "guide 4.11", "guide 10 row 3" },
    summary = "masked scores get a large finite number",
    way_out = "write -40000 (or -10000) in place of -inf",
    exempt = { "boolean masks of the fused op" },
    each = "fn",
    check = function(fn, say)
      each_constant(fn, function(mask, stats)
        if stats.neg_inf > 0 then say(("-inf at %d places"):format(stats.neg_inf), mask.op) end
      end)
    end },

  { id = "mask_room", rows = { "M31" }, severity = "warning", profiles = NE, sources = { "guide 4.11" },
    summary = "the number that masks leaves room for the score it is added to",
    way_out = "write -40000: fp16 ends at -65504, and the sum must not pass it",
    exempt = { "masks that are inputs; whether it passes with the scores of a run is decided from recorded ranges" },
    each = "fn",
    check = function(fn, say)
      each_constant(fn, function(mask, stats, c)
        if c.dtype == "fp16" and stats.min < ROOM then say(("%g"):format(stats.min), mask.op) end
      end)
    end },

  { id = "mask_orientation", rows = { "M28", "M203", "M228" }, severity = "warning", profiles = NE, sources = { "guide 4.11", "guide 10 row 2" },
    summary = "a causal mask hides later keys: [1, key, 1, query] for the layout of this unit",
    way_out = "transpose the mask; for equal lengths no shape error tells",
    exempt = { "masks that are inputs", "models that look ahead only, whose mask is meant that way" },
    each = "fn", check = orientation },

  { id = "mask_orientation_gpu", rows = { "M29" }, severity = "warning", profiles = GPU, sources = { "guide 5.9" },
    summary = "a causal mask hides later keys: [1, 1, query, key]; -inf is allowed",
    way_out = "transpose the mask; for equal lengths no shape error tells",
    exempt = { "masks that are inputs", "models that look ahead only, whose mask is meant that way" },
    each = "fn", check = orientation },

  { id = "mask_read_only", rows = { "M32", "M33" }, severity = "error", profiles = NE, sources = { "guide 4.13" },
    summary = "behind a read-only cache, cached key k is hidden where k >= t + j and new key m where m > j",
    way_out = "rebuild the mask from the offset t of the chunk's first query",
    exempt = { "masks that are inputs (the host builds them)", "constant masks of more than 262144 elements" },
    each = "fn",
    check = function(fn, say)
      each_square(fn, function(mask, c, rank, keys, query, n_keys, n_queries)
        local past = cached_keys(mask)
        if not past or n_keys ~= past + n_queries or n_keys * n_queries > CELLS_MAX then return end
        local fault = read_only_fault(c, function(k, j) return cell(c, rank, keys, query, k, j) end, past, n_queries)
        if fault then say(fault, mask.op) end
      end)
    end },

  { id = "mask_expand", rows = { "M133" }, severity = "design", profiles = NE, sources = { "guide 4.10" },
    summary = "a mask for all heads is written out by concatenation",
    way_out = "concatenate the mask with itself; a repeated view is not what the unit reads",
    each = "fn",
    check = function(fn, say)
      for _, mask in ipairs(scores.all_masks(fn)) do
        local v = mask.value
        while v.op and not v.static and (flow.is_layout(v.op) or v.op.type == "tile") do
          if v.op.type == "tile" then return say("the mask is repeated by tile", v.op) end
          v = flow.data(v.op)
        end
      end
    end },

  { id = "mask_kind", rows = { "M24", "M26" }, severity = "warning", profiles = BOTH, sources = { "report 3" },
    summary = "both arms mask in the same kind and with the same number",
    way_out = "compare kinds in an experiment of their own, with a fully masked row as a fixture: there they differ",
    each = "program",
    check = function(graph, say, cx)
      if not cx.control then return end
      local mine, theirs = kinds(graph), kinds(cx.control)
      if mine ~= theirs then say(("%s, and in the control %s"):format(mine == "" and "none" or mine, theirs == "" and "none" or theirs)) end
    end },
}
