-- Norms, gates, rotary tables and embeddings.
local flow = require "rules.flow"

local NE, GPU, BOTH = { "neural-engine" }, { "gpu" }, { "neural-engine", "gpu" }

-- The mean of x, for sub(x, mean(x)): x; nil otherwise.
local function centred(op)
  local mean = op.args.y.op
  if mean and mean.type == "reduce_mean" and mean.args.x == op.args.x then return op.args.x, mean end
end

-- Is `v` divided by the root of its mean square, a few elementwise ops on?
local function normalised(v)
  local function pass(op) return flow.is_elementwise(op) or op.type == "reduce_mean" or op.type == "reduce_sum_square" end
  return flow.reaches(v, function(u) return u.op and (u.op.type == "rsqrt" or u.op.type == "sqrt" and u.op.args.x.op ~= nil or u.op.type == "pow") end, pass)
end

-- ---- gated units: act(gate(x)) * up(x)
local function is_bias(op) return op.type == "add" and (op.args.x.static or op.args.y.static) end

local function layer_behind(v)
  local from = v and flow.back(v, function(op) return not flow.weight(op) and (flow.is_layout(op) or is_bias(op)) end)
  return from and from.op and flow.weight(from.op) and from.op
end

-- The gate's and the other layer of a product, in this order; nil when it is no gated unit.
local function gated(op)
  for _, pair in ipairs { { op.args.x, op.args.y }, { op.args.y, op.args.x } } do
    local act = pair[1].op
    local gate, up = nil, layer_behind(pair[2])
    if act and act.type == "mul" and act.args.x.op and act.args.y.op then           -- g * sigmoid(g)
      local s = act.args.x.op.type == "sigmoid" and act.args.x.op or act.args.y.op.type == "sigmoid" and act.args.y.op
      if s then gate = layer_behind(s.args.x) end
    elseif act and flow.is_nonlinear(act) then
      gate = layer_behind(flow.input(act))
    end
    if gate and up and gate ~= up and gate.args.x == up.args.x then return gate, up end
  end
end

-- ---- tables
local lookups = { "gather", "gather_nd" }
local ids = flow.set { "int32", "int16", "uint16", "int8", "uint8", "int64", "uint32" }

local function table_of(op)
  local x = op.args.x and flow.source(op.args.x)
  return x and x.static and ids[op.args.indices.dtype] and not op.args.indices.static and x or nil
end

-- A table of positions is multiplied with an activation; an embedding is not (a constant factor apart).
local function is_rotary(op)
  local function multiplies(next) return next.type == "mul" and not next.args.x.static and not next.args.y.static end
  return flow.reaches(op.out, function(v) return v.op and multiplies(v.op) or false end,
    function(next) return flow.is_layout(next) or multiplies(next) or next.type == "concat" or next.type:find "^slice" ~= nil end)
end

return {
  { id = "decomposed_norm", rows = { "M119" }, severity = "warning", profiles = NE, sources = { "guide 4.7" },
    summary = "norms are norm ops",
    way_out = "use the layer norm of the framework: the compiler may or may not put the pieces together again",
    exempt = { "root-mean-square norms, for which MIL has no op" },
    each = "op", ops = { "sub" },
    check = function(op, say)
      local x, mean = centred(op)
      if x and normalised(op.out) then say(("%s, sub, mean square, root: a layer norm in pieces"):format(mean.type)) end
    end },

  { id = "up_before_gate", rows = { "M163", "M240" }, severity = "design", profiles = BOTH, sources = { "guide 5.4" },
    summary = "the up projection is computed before the gate's",
    way_out = "swap the two lines; a difference to many reference implementations that is meant",
    each = "op", ops = { "mul" },
    check = function(op, say)
      local gate, up = gated(op)
      if gate and gate.index < up.index then say(("%s comes before %s"):format(gate.name, up.name), gate) end
    end },

  { id = "rope_gather", rows = { "M136", "M229" }, severity = "error", profiles = NE, sources = { "guide 4.12" },
    summary = "rotary tables are looked up outside the graph",
    way_out = "compute cos and sin outside and pass them as inputs of four axes, [1, head_dim, 1, S]",
    exempt = { "a lookup that is one custom op (waive it)", "embeddings: their rows are not multiplied with activations" },
    each = "op", ops = lookups,
    check = function(op, say)
      if table_of(op) and is_rotary(op) then say(("a table %s is indexed by positions"):format(flow.shape_text(table_of(op)))) end
    end },

  { id = "rope_rank", rows = { "M136", "M229" }, severity = "error", profiles = NE, sources = { "guide 4.12" },
    summary = "cos and sin come in with four axes",
    way_out = "pass [1, head_dim, 1, S]",
    exempt = { "inputs whose names do not say cos or sin" },
    each = "fn",
    check = function(fn, say)
      for _, v in ipairs(fn.inputs) do
        if flow.is_position_input(v) and v.rank ~= 4 then say(("%s has %d axes"):format(flow.shape_text(v), v.rank), v) end
      end
    end },

  { id = "embedding_shape", rows = { "M82", "M150" }, severity = "warning", profiles = NE, sources = { "guide 4.15" },
    summary = "an embedding table is [V, 1, D] and comes from an entry point of its own",
    way_out = "export load_embeddings and gather_embeddings apart, and pass the table in",
    exempt = { "rotary tables (rope_gather)", "tables below 2048 elements" },
    each = "op", ops = { "gather" },
    check = function(op, say)
      local from = table_of(op)
      if from and from.rank == 2 and (from.count or 0) >= 2048 and not is_rotary(op) then say(("a table %s inside the graph"):format(flow.shape_text(from))) end
    end },

  { id = "embedding_shape_gpu", rows = { "M82" }, severity = "design", profiles = GPU, sources = { "guide 2" },
    summary = "an embedding table is [V, D]",
    way_out = "take the source's embedding as it is",
    each = "op", ops = { "gather" },
    check = function(op, say)
      local from = table_of(op)
      if from and from.rank == 3 and from.shape[2] == 1 and not is_rotary(op) then say(("a table %s, the form of the Neural Engine rules"):format(flow.shape_text(from))) end
    end },

  { id = "embedding_compression", rows = { "M150" }, severity = "warning", profiles = NE, sources = { "guide 4.15" },
    summary = "an embedding table is int8 with one scale, and not palettised",
    way_out = "exclude embeddings from the palettes; quantise the whole table, symmetrically",
    each = "op", ops = { "gather" },
    check = function(op, say)
      local from = table_of(op)
      local packed = from and flow.compression(from)
      if not packed or is_rotary(op) then return end
      local scale = packed.args.scale
      if packed.type:find "lut" then say "the table is palettised"
      elseif scale and (scale.count or 1) > 1 then say(("%d scales, the shipped recipe has one"):format(scale.count))
      elseif packed.args.offset and packed.args.offset.number and packed.args.offset.number ~= 0 then say "the quantisation has an offset" end
    end },

  { id = "expert_indices", rows = { "M168", "M243" }, severity = "warning", profiles = GPU, sources = { "guide 5.7" },
    summary = "indices of experts are uint16",
    way_out = "cast the indices of the top-k to uint16 before the gather",
    exempt = { "gathers whose indices do not come from a top-k", "tables of fewer than three axes" },
    each = "op", ops = { "gather", "gather_along_axis", "gather_nd" },
    check = function(op, say)
      local indices = op.args.indices
      local from = flow.back(indices, flow.is_layout)
      local x = flow.source(op.args.x)
      if from.op and from.op.type == "topk" and x.static and x.rank >= 3 and indices.dtype ~= "uint16" then say(("%s indices"):format(indices.dtype)) end
    end },
}
