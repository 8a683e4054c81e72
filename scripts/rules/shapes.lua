-- Ranks, sizes and the axis that lies innermost.
local flow = require "rules.flow"

local NE = { "neural-engine" }
local bytes_of = { fp16 = 2, bf16 = 2, fp32 = 4, fp64 = 8, int8 = 1, uint8 = 1 }

local function boundary(fn)
  local list = {}
  for _, v in ipairs(fn.inputs) do list[#list + 1] = v end
  for _, v in ipairs(fn.outputs) do
    if not v.input then list[#list + 1] = v end
  end
  return list
end

-- Calls check(v, size of the last axis, bytes an element) for the float inputs and outputs whose last axis is known. Indices and
-- step counters are integers of one element in the guide's own signatures, and a scalar has no axis.
local function each_boundary(fn, check)
  for _, v in ipairs(boundary(fn)) do
    local last = v.shape[v.rank]
    if flow.is_activation(v) and last and last > 0 then check(v, last, bytes_of[v.dtype]) end
  end
end

local function touches_conv1x1(v)
  if v.op and flow.is_conv1x1(v.op) then return true end
  for _, op in ipairs(v.users) do
    if flow.is_conv1x1(op) then return true end
  end
  return false
end

local function is_statistic(v) return v.op and (v.op.type:find "^reduce_" ~= nil or v.op.type:find "_pool$" and flow.product(v.shape, 3) == 1) end

local function dynamic(v)
  for _, n in ipairs(v.shape) do
    if n < 0 then return true end
  end
  return v.flexible ~= nil
end

-- [B, C, 1, S]
local function channels_first(v) return v.rank == 4 and v.shape[3] == 1 end

return {
  { id = "rank_limit", rows = { "M95", "M96", "M226" }, severity = "error", profiles = NE, sources = { "guide 4.1" },
    summary = "an activation has at most five axes",
    way_out = "fold leading axes into the batch and trailing ones, while they stay adjacent, into the channel",
    exempt = { "constants, and what constexpr ops make: in iOS 18 the palette of a rank-4 weight has six axes by definition" },
    each = "value",
    check = function(v, say)
      if v.kind == "tensor" and v.rank > 5 then say(("rank %d %s"):format(v.rank, flow.shape_text(v))) end
    end },

  { id = "static_shapes", rows = { "M85", "M90" }, severity = "error", profiles = NE, sources = { "guide 2", "guide 3" },
    summary = "every input has one fixed shape",
    way_out = "export one function for each shape; where the length varies, chunk it",
    each = "fn",
    check = function(fn, say)
      for _, v in ipairs(fn.inputs) do
        if dynamic(v) then say(("input %s%s"):format(flow.shape_text(v), v.flexible and (" with %s"):format(v.flexible) or ""), v) end
      end
    end },

  { id = "io_last_axis_single", rows = { "M107", "M227" }, severity = "error", profiles = NE, sources = { "guide 4.3" },
    summary = "the last axis of an input or output is not a singleton",
    way_out = "move a large axis to the end: [B, C, 1, S] instead of [B, C, S, 1]",
    exempt = { "integer inputs (a step counter of one element)", "scalars and tensors of one element, which cost one block of 64 bytes whatever their shape" },
    each = "fn",
    check = function(fn, say)
      each_boundary(fn, function(v, last, bytes)
        if last == 1 and v.count ~= 1 then say(("%s %s: padded to 64 bytes, %d times the memory"):format(v.dtype, flow.shape_text(v), 64 // bytes), v) end
      end)
    end },

  { id = "io_last_axis_short", rows = { "M106", "M227" }, severity = "error", profiles = NE, sources = { "guide 4.3" },
    summary = "the last axis of an input or output holds at least 64 bytes",
    way_out = "pad or fold until the last axis holds 32 fp16 elements or more",
    exempt = { "integer inputs" },
    each = "fn",
    check = function(fn, say)
      each_boundary(fn, function(v, last, bytes)
        if last > 1 and last * bytes < 64 then say(("%s %s: %d bytes"):format(v.dtype, flow.shape_text(v), last * bytes), v) end
      end)
    end },

  { id = "io_last_axis_alignment", rows = { "M105", "M227" }, severity = "error", profiles = NE, sources = { "guide 4.3" },
    summary = "the last axis of an input or output is a multiple of 64 bytes",
    way_out = "pad the last axis to the next multiple of 32 fp16 elements",
    exempt = { "integer inputs" },
    each = "fn",
    check = function(fn, say)
      each_boundary(fn, function(v, last, bytes)
        if last * bytes > 64 and last * bytes % 64 ~= 0 then
          say(("%s %s: %d bytes, the next multiple of 64 is %d elements"):format(v.dtype, flow.shape_text(v), last * bytes,
            (last * bytes + 63) // 64 * 64 // bytes), v)
        end
      end)
    end },

  { id = "io_last_axis_power_of_two", rows = { "M108", "M227" }, severity = "design", profiles = NE, sources = { "guide 4.3" },
    summary = "the last axis of an input or output is best a power of two",
    way_out = "choose the layer's size when the model is designed",
    exempt = { "multiples of 64 elements: 576, 1280 and the like stand in the guide's own examples" },
    each = "fn",
    check = function(fn, say)
      each_boundary(fn, function(v, last, bytes)
        if last * bytes % 64 == 0 and last % 64 ~= 0 and not flow.is_power_of_two(last) then say(("%s: %d"):format(flow.shape_text(v), last), v) end
      end)
    end },

  { id = "inner_last_axis_single", rows = { "M107", "M109" }, severity = "warning", profiles = NE, sources = { "guide 4.3" },
    summary = "the last axis of an inner tensor is not a singleton",
    way_out = "reshape or transpose so that a large axis is last; an inner tensor may get away with it when it stays in the L2 cache",
    exempt = { "a tensor beside a 1x1 convolution (batch folded in front of it, as the guide's own MLP does)",
      "statistics: results of reductions and of pools over everything, which are small", "tensors of one element, inputs and outputs (their own rule)" },
    each = "value",
    check = function(v, say)
      if not flow.is_activation(v) or v.input or v.output or v.rank < 2 or v.shape[v.rank] ~= 1 or v.count == 1 then return end
      local from = flow.back(v, flow.is_elementwise)
      if touches_conv1x1(v) or touches_conv1x1(from) or is_statistic(from) then return end
      say(("%s %s: up to %d times the memory"):format(v.dtype, flow.shape_text(v), 64 // bytes_of[v.dtype]))
    end },

  { id = "io_layout", rows = { "M80", "M89" }, severity = "design", profiles = NE, sources = { "guide 2", "guide 4.4" },
    summary = "inputs and outputs are [B, C, 1, S], or [B, S, 1, D] between the blocks of a language model",
    way_out = "declare the four-axis form: [B, S, D] becomes [B, D, 1, S] by a transpose and a new axis",
    exempt = { "tensors of other ranks: images, tokens, caches", "[V, 1, D], an embedding table" },
    each = "fn",
    check = function(fn, say)
      each_boundary(fn, function(v)
        if v.rank == 3 and v.shape[2] ~= 1 then say(("%s has three axes, the layout of the GPU rules"):format(flow.shape_text(v)), v) end
      end)
    end },

  { id = "io_layout_gpu", rows = { "M80", "M157" }, severity = "design", profiles = { "gpu" }, sources = { "guide 2", "guide 5.1" },
    summary = "hidden states are [B, S, D] or [B, D]",
    way_out = "take the layout of the source model; no axis of one is needed",
    exempt = { "tensors of other ranks: images, tokens, caches" },
    each = "fn",
    check = function(fn, say)
      each_boundary(fn, function(v)
        if channels_first(v) then say(("%s is the layout of the Neural Engine rules"):format(flow.shape_text(v)), v) end
      end)
    end },
}
