-- Walks over the graph of a program (ev:graph): what the rules of this folder ask of data flow, each asked once.
local flow = {}

local NEAR = 256                                  -- ops that a walk for a pattern looks at: patterns are local, programs are long

function flow.set(list)
  local set = {}
  for _, name in ipairs(list) do set[name] = true end
  return set
end

local floats = flow.set { "fp16", "fp32", "fp64", "bf16" }
local elementwise = flow.set { "add", "sub", "mul", "real_div", "maximum", "minimum", "pow", "relu", "relu6", "leaky_relu", "gelu", "silu", "sigmoid",
  "sigmoid_hard", "tanh", "scaled_tanh", "softplus", "softsign", "elu", "exp", "exp2", "log", "sqrt", "rsqrt", "square", "inverse", "abs", "sign", "clip",
  "erf", "cast", "identity", "thresholded_relu", "linear_activation", "prelu", "select", "clamped_relu", "logical_not" }
local norms = flow.set { "layer_norm", "instance_norm", "batch_norm", "l2_norm", "local_response_norm" }
local activations = flow.set { "relu", "relu6", "leaky_relu", "gelu", "silu", "sigmoid", "sigmoid_hard", "tanh", "scaled_tanh", "softplus", "softsign", "elu",
  "prelu", "clamped_relu", "thresholded_relu", "erf" }

-- A tensor of floating-point numbers that is computed while the model runs.
function flow.is_activation(v) return not v.static and v.kind == "tensor" and floats[v.dtype] or false end
function flow.is_float(v) return v.kind == "tensor" and floats[v.dtype] or false end
function flow.is_elementwise(op) return elementwise[op.type] or false end
function flow.is_norm(op) return norms[op.type] or false end
function flow.is_nonlinear(op) return activations[op.type] or false end

-- Number bound to a parameter; nil when it is not one constant element.
function flow.number(op, key) return op.args[key] and op.args[key].number end
function flow.numbers(op, key) return op.args[key] and op.args[key].numbers end
function flow.text(op, key) return op.args[key] and op.args[key].text end

-- What an op works on, whatever the order in which its arguments are written; nil when it has no arguments.
function flow.data(op) return op.args.x or op.args.data or op.args.values or op.args.input or op.operands[1] end

-- The same, or where that is a constant, the first operand that is none.
function flow.input(op)
  local x = flow.data(op)
  if x and not x.static then return x end
  for _, v in ipairs(op.operands) do
    if not v.static then return v end
  end
end

-- Goes from v to its producers as long as `pass(op)` holds; returns the value it ends at.
function flow.back(v, pass)
  for _ = 1, NEAR do
    local before = v.op and not v.static and pass(v.op) and flow.input(v.op)
    if not before then break end
    v = before
  end
  return v
end

function flow.is_layout(op) return op.layout or op.type == "cast" end

-- Is there a path from v to a value for which `is(value)` holds, through ops for which `pass(op)` holds? Only what is near counts.
function flow.reaches(v, is, pass)
  local seen, queue, n = {}, { v }, 1
  while n <= #queue and n <= NEAR do
    if is(queue[n]) then return true end
    for _, op in ipairs(queue[n].users) do
      if not seen[op] and pass(op) then
        seen[op] = true
        for _, out in ipairs(op.outs) do queue[#queue + 1] = out end
      end
    end
    n = n + 1
  end
  return false
end

-- Is v computed from a value for which `is(value)` holds, on this side of the ops for which `stop(op)` holds?
function flow.depends(v, is, stop)
  local seen, queue, n = {}, { v }, 1
  while n <= #queue and n <= NEAR do
    local here = queue[n]
    if is(here) then return true end
    if here.op and not seen[here.op] and not stop(here.op) then
      seen[here.op] = true
      for _, operand in ipairs(here.op.operands) do
        if not operand.static then queue[#queue + 1] = operand end
      end
    end
    n = n + 1
  end
  return false
end

-- An input whose name says cos or sin: a rotary table of the positions at hand.
function flow.is_position_input(v)
  if not v.input or not flow.is_activation(v) then return false end
  for word in v.name:gsub("(%l)(%u)", "%1 %2"):lower():gmatch "%a+" do
    if word == "cos" or word == "sin" then return true end
  end
  return false
end

-- ---- weights
local with_weight = { conv = "weight", conv_transpose = "weight", linear = "weight" }

-- The constant matrix or kernel that an op applies to its input, also behind layout ops; nil when there is none.
function flow.weight(op)
  local w = op.args[with_weight[op.type] or ""]
  if op.type == "matmul" then
    local x, y = op.args.x, op.args.y
    w = y and flow.source(y).static and y or x and flow.source(x).static and x
  end
  return w and flow.source(w).static and w or nil
end

-- Where v comes from, behind layout ops.
function flow.source(v)
  while v.op and v.op.layout and flow.data(v.op) do v = flow.data(v.op) end
  return v
end

-- The op that decompresses a weight; nil when it is stored as it is.
function flow.compression(v)
  local from = v and flow.source(v)
  return from and from.op and from.op.constexpr and from.op or nil
end

-- Spatial sizes of a convolution's kernel.
function flow.kernel(op)
  local w, list = op.args.weight, {}
  for i = 3, w and w.rank or 0 do list[#list + 1] = w.shape[i] end
  return list
end

function flow.is_conv1x1(op)
  if op.type ~= "conv" then return false end
  local kernel = flow.kernel(op)
  for _, k in ipairs(kernel) do
    if k ~= 1 then return false end
  end
  return #kernel > 0
end

-- ---- functions
-- What `make(fn)` finds in a function, found once.
function flow.once(fn, key, make)
  fn.found = fn.found or {}
  if fn.found[key] == nil then fn.found[key] = make(fn) end
  return fn.found[key]
end

function flow.by_type(fn)
  return flow.once(fn, "by_type", function()
    local map = {}
    for _, op in ipairs(fn.ops) do
      map[op.type] = map[op.type] or {}
      map[op.type][#map[op.type] + 1] = op
    end
    return map
  end)
end

-- Every value that is computed or fed in, inputs first.
function flow.values(fn)
  return flow.once(fn, "values", function()
    local list = {}
    for _, v in ipairs(fn.inputs) do list[#list + 1] = v end
    for _, op in ipairs(fn.ops) do
      for _, v in ipairs(op.outs) do
        if not v.static then list[#list + 1] = v end
      end
    end
    return list
  end)
end

-- Constants used by the function's ops, each once.
function flow.constants(fn)
  return flow.once(fn, "constants", function()
    local list, seen = {}, {}
    for _, op in ipairs(fn.ops) do
      for _, v in ipairs(op.operands) do
        if v.static and not v.op and not seen[v] then
          seen[v] = true
          list[#list + 1] = v
        end
      end
    end
    return list
  end)
end

-- { [op] = true } for ops whose results meet a layer with weights further on; found backwards, each op once.
local function before_a_layer(fn)
  return flow.once(fn, "before_a_layer", function()
    local before = {}
    for i = #fn.ops, 1, -1 do
      local op = fn.ops[i]
      for _, out in ipairs(op.outs) do
        for _, user in ipairs(out.users) do before[op] = before[op] or before[user] or flow.weight(user) ~= nil end
      end
    end
    return before
  end)
end

-- Is the op the model's head: a layer with weights whose result becomes an output without another such layer?
function flow.is_head(op)
  if before_a_layer(op.fn)[op] then return false end
  local function passes(next) return flow.is_layout(next) or flow.is_elementwise(next) or next.type == "softmax" or next.type == "log_softmax" end
  return flow.reaches(op.out, function(v) return v.output or false end, passes)
end

function flow.shape_text(v)
  local list = {}
  for i, n in ipairs(v.shape) do list[i] = n < 0 and "?" or tostring(n) end
  return "[" .. table.concat(list, ", ") .. "]"
end

function flow.is_power_of_two(n) return n > 0 and n & (n - 1) == 0 end

-- Product of list[from .. to], all of it by default.
function flow.product(list, from, to)
  local n = 1
  for i = from or 1, to or #list do n = n * list[i] end
  return n
end

return flow
