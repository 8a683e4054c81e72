-- Projections: which op, which layout around it, whose weights.
local flow = require "rules.flow"
local axes = require "rules.axes"

local NE, GPU, BOTH = { "neural-engine" }, { "gpu" }, { "neural-engine", "gpu" }
local BIG = 2048                                  -- elements; smaller constants are scales and tables

local function is_dense(op) return (op.type == "linear" or op.type == "matmul") and flow.weight(op) ~= nil end

-- The dense or 1x1 layer that v comes from, through layout ops, scales, norms and rotations.
local function made_by(v)
  local from = flow.back(v, function(op)
    return not flow.weight(op) and (flow.is_layout(op) or flow.is_elementwise(op) or flow.is_norm(op) or op.type == "split" or op.type:find "^slice_by" ~= nil)
  end)
  return from.op and flow.weight(from.op) and from.op or nil
end

-- ---- the cut of one fused projection
local cuts = flow.set { "slice_by_index", "slice_by_size", "split" }

-- Where v begins in what it was cut out of: { op or its input, place }; nil when it is not cut.
local function cut_place(v)
  for _ = 1, 16 do
    local op = v.op
    if not op or v.static then return nil end
    if op.type == "split" then
      for i, out in ipairs(op.outs) do
        if out == v then return op.args.x, i end
      end
    elseif cuts[op.type] then
      local begin = flow.numbers(op, "begin")
      if not begin then return nil end
      local place = 0
      for _, b in ipairs(begin) do place = place + b end
      return op.args.x, place
    elseif not flow.is_layout(op) and not flow.is_elementwise(op) and not flow.is_norm(op) then
      return nil
    end
    v = flow.input(op)
    if not v then return nil end
  end
end

local function qkv_places(site)
  local from_q, q = cut_place(site.query)
  local from_k, k = cut_place(site.key)
  local from_v, v = cut_place(site.value)
  if from_q and from_q == from_k and from_k == from_v then return q, k, v end
end

-- ---- weights of the program that this one was made from
-- Calls each(weight, op) for the uncompressed weights of convolutions and linear layers, which are stored [O, I, ...] in both programs.
local function each_weight(fn, each)
  for _, type in ipairs { "conv", "linear" } do
    for _, op in ipairs(flow.by_type(fn)[type] or {}) do
      local w = op.args.weight
      if w and w.data and flow.is_float(w) and (w.count or 0) >= BIG then each(w, op) end
    end
  end
end

-- Digests of weights by type and number of elements.
local function kind_of(w) return w.dtype .. " " .. w.count end
local function digests(graph)
  return flow.once(graph, "digests", function()
    local kinds = {}
    for _, fn in ipairs(graph.functions) do
      each_weight(fn, function(w)
        kinds[kind_of(w)] = kinds[kind_of(w)] or {}
        kinds[kind_of(w)][w.data:digest()] = true
      end)
    end
    return kinds
  end)
end

-- Kinds of nonlinear ops and how many there are, as text.
local function activation_census(graph)
  local n, list = {}, {}
  for _, fn in ipairs(graph.functions) do
    for _, op in ipairs(fn.ops) do
      if flow.is_nonlinear(op) then
        local kind = op.type .. (flow.text(op, "mode") and "/" .. flow.text(op, "mode") or "")
        n[kind] = (n[kind] or 0) + 1
      end
    end
  end
  -- x * sigmoid(x) is silu, whichever way it is written.
  for _, fn in ipairs(graph.functions) do
    for _, op in ipairs(flow.by_type(fn).mul or {}) do
      for _, pair in ipairs { { op.args.x, op.args.y }, { op.args.y, op.args.x } } do
        local s = pair[1].op
        if s and s.type == "sigmoid" and s.args.x == pair[2] then
          n.sigmoid, n.silu = n.sigmoid - 1, (n.silu or 0) + 1
        end
      end
    end
  end
  for kind, count in pairs(n) do
    if count > 0 then list[#list + 1] = ("%d %s"):format(count, kind) end
  end
  return #list > 0 and table.concat(list, ", ") or "none"
end

local moves = flow.set { "reshape", "transpose", "cast", "expand_dims", "squeeze", "flatten2d", "reverse", "tile" }

local function movement(fn)
  return flow.once(fn, "movement", function()
    local n, innermost, first = 0, 0, nil
    for _, op in ipairs(fn.ops) do
      if moves[op.type] then
        n, first = n + 1, first or op
        local perm = op.type == "transpose" and flow.numbers(op, "perm")
        if perm and perm[#perm] ~= #perm - 1 and perm[#perm] ~= -1 then innermost = innermost + 1 end
      end
    end
    return { n = n, innermost = innermost, first = first }
  end)
end

return {
  { id = "linear_projection", rows = { "M81", "M114", "M116", "M220" }, severity = "warning", profiles = NE, sources = { "guide 4.5", "report 4" },
    summary = "projections are 1x1 convolutions",
    way_out = "raise the weight to [O, I, 1, 1] and convolve, or waive it with the reason; the report saw linear layers placed on a base M1 by Core ML",
    exempt = { "one linear layer at the head, where the transfer happens anyway" },
    each = "fn",
    check = function(fn, say)
      local head
      for _, type in ipairs { "linear", "matmul" } do
        for _, op in ipairs(flow.by_type(fn)[type] or {}) do
          if is_dense(op) then
            if not head and flow.is_head(op) then head = op
            else say(("%s with constant weights %s"):format(op.type, flow.shape_text(flow.weight(op))), op) end
          end
        end
      end
    end },

  { id = "conv_projection", rows = { "M81", "M157" }, severity = "warning", profiles = GPU, sources = { "guide 2", "guide 5.1" },
    summary = "projections are linear layers",
    way_out = "take the source's weight [O, I] as it is; no reshape is needed",
    exempt = { "1x1 convolutions of images, whose third axis is larger than 1, and of pooled ones, [B, C, 1, 1]" },
    each = "op", ops = { "conv" },
    check = function(op, say)
      local x = op.args.x
      if flow.is_conv1x1(op) and x.rank == 4 and x.shape[3] == 1 and x.shape[4] ~= 1 then say "a 1x1 convolution in the layout of the Neural Engine rules" end
    end },

  { id = "projection_weight_rank", rows = { "M86", "M115" }, severity = "warning", profiles = NE, sources = { "guide 4.5" },
    summary = "the weight of a projection is [O, I, 1, 1]",
    way_out = "raise the rank of the weight twice and leave the bias as it is",
    each = "op", ops = { "conv" },
    check = function(op, say)
      local w = op.args.weight
      if w and w.rank == 3 and flow.is_conv1x1(op) then say(("weight %s: a convolution in one dimension"):format(flow.shape_text(w))) end
    end },

  { id = "weight_changed", rows = { "M86", "M115", "M211" }, severity = "error", profiles = BOTH, sources = { "guide 4.5", "guide 10 row 10" },
    summary = "every large weight is one of the source program's, whatever its rank",
    way_out = "look for renamed keys: a load that is not strict leaves a layer at its random start",
    exempt = { "weights that the source holds in no such type and number of elements: concatenated, converted or compressed ones",
      "products with constants, which may be stored the other way round", "weights below 2048 elements", "programs judged without --source" },
    each = "fn",
    check = function(fn, say, cx)
      if not cx.source then return end
      local kinds = digests(cx.source)
      each_weight(fn, function(w, op)
        local known = kinds[kind_of(w)]
        if known and not known[w.data:digest()] then say(("%s %s is not among the source's weights"):format(w.dtype, flow.shape_text(w)), op) end
      end)
    end },

  { id = "activation_kind", rows = { "M159", "M212", "M236" }, severity = "warning", profiles = BOTH, sources = { "guide 5.1", "guide 10 row 11" },
    summary = "the activations are those of the source program",
    way_out = "print the source's activation types; GELU, SiLU and QuickGELU are not exchangeable, and a re-spelled one states its error",
    exempt = { "x * sigmoid(x), which counts as silu", "programs judged without --source" },
    each = "program",
    check = function(graph, say, cx)
      if not cx.source then return end
      local mine, theirs = activation_census(graph), activation_census(cx.source)
      if mine ~= theirs then say(("%s; the source has %s"):format(mine, theirs)) end
    end },

  { id = "separate_qkv", rows = { "M81" }, severity = "design", profiles = GPU, sources = { "guide 5.2" },
    summary = "query, key and value come from one projection",
    way_out = "concatenate the three weights, query first, and cut the result",
    exempt = { "queries of another input (cross-attention)" },
    each = "site",
    check = function(site, say)
      local q, k, v = made_by(site.query), made_by(site.key), made_by(site.value)
      if q and k and v and q ~= k and k ~= v and q ~= v and q.type == "linear" and q.args.x == k.args.x and k.args.x == v.args.x then say "three linear layers on one input" end
    end },

  { id = "qkv_order", rows = { "M160", "M238" }, severity = "warning", profiles = GPU, sources = { "guide 5.2" },
    summary = "a fused projection is cut in the order query, key, value",
    way_out = "make the cuts follow the order in which the weights were concatenated; swapped parts have equal shapes",
    exempt = { "heads that are interleaved before the cut" },
    each = "site",
    check = function(site, say)
      local q, k, v = qkv_places(site)
      if q and not (q < k and k < v) then say(("query, key and value begin at %d, %d and %d"):format(q, k, v)) end
    end },

  { id = "transpose_pair", rows = { "M117", "M206", "M224" }, severity = "error", profiles = NE, sources = { "guide 4.6", "guide 10 row 5" },
    summary = "a projection is bracketed by a transpose and its inverse",
    way_out = "undo behind the projection what was done before it; transpose(-3, -1) is its own inverse",
    exempt = { "axes of one element, which may go anywhere", "results that are reshaped or cut into heads, where another order is meant" },
    each = "op", ops = { "conv" },
    check = function(op, say)
      local before, after = axes.bracket(op)
      if before and after and not axes.inverse(before, after) then
        say(("perm %s in front and %s behind"):format(axes.perm_text(before), axes.perm_text(after)), after)
      end
    end },

  { id = "layout_neutral", rows = { "M89", "M118", "M206", "M225" }, severity = "error", profiles = NE, sources = { "guide 4.6", "guide 10 row 5" },
    summary = "axes that meet, or that come back out, are in one order",
    way_out = "look for the transpose that is missing: equal sizes hide it",
    exempt = { "shapes that differ (another rule of shapes would refuse them)", "values behind a reshape, whose axes are not followed" },
    each = "fn",
    check = function(fn, say)
      for _, fault in ipairs(axes.faults(fn)) do say(fault.message, fault.at) end
    end },

  { id = "data_movement", rows = { "M113" }, severity = "error", profiles = BOTH, sources = { "guide 4.4" },
    summary = "reshapes, transposes and casts stay below the declared ceiling",
    way_out = "merge or drop them in the source; the compiler does not find all",
    applies = function(p) return p.movement_max ~= nil end,
    each = "fn",
    check = function(fn, say, cx)
      local m = movement(fn)
      if m.n > cx.facts.movement_max then
        say(("%d ops move data, %d transposes touch the last axis; the ceiling is %d"):format(m.n, m.innermost, cx.facts.movement_max), m.first)
      end
    end },
}
