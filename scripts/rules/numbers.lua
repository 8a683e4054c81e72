-- Element types: what stays in fp16, and which fp32 part has which cause.
local flow = require "rules.flow"

local NE, GPU, BOTH = { "neural-engine" }, { "gpu" }, { "neural-engine", "gpu" }
local wide = flow.set { "fp32", "fp64" }
local halves = flow.set { "fp16", "bf16" }

local function is_wide(v) return not v.static and v.kind == "tensor" and wide[v.dtype] or false end

local function opens(op) return op.type == "cast" and not op.args.x.static and halves[op.args.x.dtype] and is_wide(op.out) or false end

-- The fp32 ops that are reached from a cast out of fp16, up to the casts back.
local function island(entry, taken)
  local ops, stack = {}, { entry.out }
  while #stack > 0 do
    for _, op in ipairs(table.remove(stack).users) do
      if not taken[op] and op.type ~= "cast" and op.out then
        taken[op] = true
        ops[#ops + 1] = op
        for _, v in ipairs(op.outs) do
          if is_wide(v) then stack[#stack + 1] = v end
        end
      end
    end
  end
  table.sort(ops, function(a, b) return a.index < b.index end)
  return ops
end

-- { list = { { entry, ops } ... }, inside = { [op] = true } }: fp32 stretches of an fp16 graph, each behind its first cast.
local function islands(fn)
  return flow.once(fn, "islands", function()
    local list, inside = {}, {}
    for _, op in ipairs(flow.by_type(fn).cast or {}) do
      if opens(op) then
        local ops = island(op, inside)
        if #ops > 0 then list[#list + 1] = { entry = op, ops = ops } end
      end
    end
    return { list = list, inside = inside }
  end)
end

local swish = flow.set { "silu", "sigmoid", "mul" }
local function is_silu(part)
  local has = false
  for _, op in ipairs(part.ops) do
    if not swish[op.type] then return false end
    if op.type == "mul" and (op.args.x.static or op.args.y.static) then return false end
    has = has or op.type == "silu" or op.type == "sigmoid"
  end
  return has
end

-- The op of the stretch that takes an fp32 constant as an operand: a literal, where the parameters of norms and the like are none.
local arithmetic = flow.set { "add", "sub", "mul", "real_div", "maximum", "minimum", "pow", "select" }
local function literal(part)
  for _, op in ipairs(part.ops) do
    if arithmetic[op.type] then
      for _, v in ipairs(op.operands) do
        if v.static and wide[v.dtype] then return op, v end
      end
    end
  end
end

local sensitive = flow.set { "layer_norm", "instance_norm", "batch_norm", "l2_norm", "softmax", "reduce_mean", "reduce_sum", "reduce_sum_square", "reduce_max",
  "reduce_l2_norm", "matmul", "scaled_dot_product_attention" }
-- Norms and attention scores are where the guide wants fp32; elementwise ops between them go along.
local function at_sensitive_op(part)
  for _, op in ipairs(part.ops) do
    if op.type == "silu" or op.type == "sigmoid" then return true end      -- gate in fp32, as the shipped gated norm has it
    if sensitive[op.type] and not flow.weight(op) then return true end
    for _, back in ipairs(op.out.users) do                                  -- what is masked right before the softmax
      if back.type == "softmax" or back.type == "cast" and back.out.users[1] and back.out.users[1].type == "softmax" then return true end
    end
  end
  return false
end

-- Parameters that take an index, a size or a shape: what feeds only these is no activation.
local index_roles = flow.set { "indices", "begin", "end", "stride", "size", "shape", "reps", "axis", "axes", "perm", "pad", "k", "begin_mask", "end_mask",
  "squeeze_mask", "num_splits", "split_sizes", "target_shape", "depth", "lower", "upper", "start", "loop_vars", "cond", "ls", "index", "one_hot_vector_size",
  "batch_dims", "crops", "block_shape", "lengths", "offset" }
local integers = flow.set { "int32", "int64", "uint32", "uint64" }

local function is_role(op, v)
  for key, bound in pairs(op.args) do
    if bound == v and index_roles[key] then return true end
  end
  return op.type == "gather" or op.type == "shape"
end

local function int_only(op)
  for _, v in ipairs(op.outs) do
    if flow.is_float(v) then return false end
  end
  return true
end

-- { [value] = true } for integers that end up as a number in the data flow; found backwards, so each is looked at once.
local function integer_activations(fn)
  return flow.once(fn, "integer_activations", function()
    local data = {}
    local list = flow.values(fn)
    for i = #list, 1, -1 do
      local v = list[i]
      if v.kind == "tensor" and integers[v.dtype] then
        for _, op in ipairs(v.users) do
          if op.nested == 0 and not is_role(op, v) then
            if not int_only(op) then data[v] = true end
            for _, out in ipairs(op.outs) do data[v] = data[v] or data[out] end
          end
        end
      end
    end
    return data
  end)
end

local function first_wide(fn)
  local first, n = nil, 0
  local inside = islands(fn).inside
  for _, op in ipairs(fn.ops) do
    if op.type ~= "cast" and not op.constexpr and op.out and is_wide(op.out) and not inside[op] then
      first, n = first or op, n + 1
    end
  end
  return first, n
end

return {
  { id = "fp32_graph", rows = { "M84", "M98" }, severity = "error", profiles = NE, sources = { "guide 4.2" },
    summary = "activations are fp16, int8 or int16",
    way_out = "convert with fp16 precision; fp32 inputs and outputs may stay, with a cast right behind or before them",
    exempt = { "casts at the boundary", "fp32 stretches inside an fp16 graph: fp32_constant, fp32_cast and silu_cast name their cause" },
    each = "fn",
    check = function(fn, say)
      local first, n = first_wide(fn)
      if first then say(("%d ops compute in %s, this one first"):format(n, first.out.dtype), first) end
    end },

  { id = "fp32_constant", rows = { "M99", "M202", "M221" }, severity = "error", profiles = NE, sources = { "guide 4.2", "guide 10 row 1" },
    summary = "no constant pulls an fp16 graph into fp32",
    way_out = "store the number in the type of its neighbours (in the source: a tensor of x's dtype instead of a literal)",
    exempt = { "parameters of norms and of resizing, which are not operands" },
    each = "fn",
    check = function(fn, say)
      for _, part in ipairs(islands(fn).list) do
        local op, v = literal(part)
        if op and not is_silu(part) then
          say(("fp32 constant%s in an fp16 graph: %d op%s leave the unit"):format(v.number and (" %g"):format(v.number) or "", #part.ops, #part.ops > 1 and "s" or ""), op)
        end
      end
    end },

  { id = "silu_cast", rows = { "M101" }, severity = "error", profiles = NE, sources = { "guide 4.2" },
    summary = "SiLU stays one op, or is written x * sigmoid(x), in fp16",
    way_out = "keep silu out of the decomposition table, or multiply by the sigmoid without casts",
    each = "fn",
    check = function(fn, say)
      for _, part in ipairs(islands(fn).list) do
        if is_silu(part) then say("cast to fp32, SiLU, cast back: three ops where one was meant", part.ops[1]) end
      end
    end },

  { id = "fp32_cast", rows = { "M102", "M223" }, severity = "warning", profiles = NE, sources = { "guide 4.2" },
    summary = "an fp16 graph is not cast to fp32 inside",
    way_out = "drop the cast; that it buys fp32 accumulation on this unit is a claim of the community without proof",
    each = "fn",
    check = function(fn, say)
      for _, part in ipairs(islands(fn).list) do
        if not literal(part) and not is_silu(part) then say(("%d op%s computed in fp32 behind it"):format(#part.ops, #part.ops > 1 and "s" or ""), part.entry) end
      end
    end },

  { id = "integer_activation", rows = { "M98" }, severity = "warning", profiles = NE, sources = { "guide 4.2" },
    summary = "wide integers do not take part as data",
    way_out = "give the number in fp16, int16 or int8; or compute it outside the graph",
    exempt = { "indices, sizes and shapes: int32 there is not an activation", "integer outputs (labels)", "booleans" },
    each = "value",
    check = function(v, say, cx)
      if not integer_activations(cx.fn)[v] then return end
      for _, op in ipairs(v.users) do
        if not int_only(op) and not is_role(op, v) then return say(("%s %s enters the data flow here"):format(v.dtype, flow.shape_text(v)), op) end
      end
    end },

  { id = "fp32_intermediate", rows = { "M158" }, severity = "warning", profiles = GPU, sources = { "guide 5.1" },
    summary = "an fp16 graph uses fp32 at norms and attention scores only",
    way_out = "cast back before layers with weights; fp32 there costs bandwidth and buys nothing",
    exempt = { "stretches that hold a norm, a reduction, a softmax, the scores or a gate" },
    each = "fn",
    check = function(fn, say)
      for _, part in ipairs(islands(fn).list) do
        if not at_sensitive_op(part) then say(("%d op%s computed in fp32"):format(#part.ops, #part.ops > 1 and "s" or ""), part.ops[1]) end
      end
    end },

  { id = "fp32_weights", rows = { "M84", "M158" }, severity = "warning", profiles = GPU, sources = { "guide 5.1" },
    summary = "weights are fp16, or compressed",
    way_out = "convert with fp16 weights",
    exempt = { "constants below 1024 elements" },
    each = "fn",
    check = function(fn, say)
      local n, bits, first = 0, 0, nil
      for _, v in ipairs(flow.constants(fn)) do
        if v.kind == "tensor" and wide[v.dtype] and (v.count or 0) >= 1024 then
          n, bits, first = n + 1, bits + v.bits, first or v
        end
      end
      if first then say(("%d constants, %.1f MB in fp32"):format(n, bits / 8e6), first) end
    end },

  { id = "training_leftover", rows = { "M170", "M245", "M246" }, severity = "error", profiles = BOTH, sources = { "guide 5", "guide 11.3" },
    summary = "nothing of training is left in the graph",
    way_out = "call eval() before export and run the decomposition table",
    each = "op",
    ops = { "random_bernoulli", "random_uniform", "random_normal", "random_categorical", "dropout" },
    check = function(_, say) say "a random op: dropout or sampling was exported" end },
}
