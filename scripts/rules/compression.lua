-- Compressed weights: which family, with which granularity, on which layers.
local flow = require "rules.flow"

local NE, GPU = { "neural-engine" }, { "gpu" }
local BIG = 2048                                  -- elements; coremltools leaves smaller weights alone by default

local linear = flow.set { "constexpr_affine_dequantize", "constexpr_blockwise_shift_scale" }
local palettes = flow.set { "constexpr_lut_to_dense", "constexpr_lut_to_sparse" }
local layers = { "conv", "conv_transpose", "linear", "matmul" }

local function weight_bits(op)
  local data = op.args.indices or op.args.quantized_data or op.args.data or op.args.nonzero_data
  return data and tonumber(data.dtype:match "^u?int(%d+)$")
end

-- Bits of an index: in iOS 16 the indices are packed bytes and the size of the palette says it.
local function palette_bits(op)
  local lut = op.args.lut
  if lut and lut.rank == 1 then
    local bits, n = 0, lut.count
    while 1 << bits < n do bits = bits + 1 end
    return bits
  end
  return weight_bits(op)
end

-- Sizes of the blocks that share one scale, by axis; nil when there is none.
local function block_sizes(op)
  local data, scale = op.args.data, op.args.scale
  if not data or not scale or data.rank ~= scale.rank then return nil end
  local sizes = {}
  for i = 1, data.rank do sizes[i] = data.shape[i] // scale.shape[i] end
  return sizes, scale
end

-- Is there more than one scale along an axis behind the output channel? Then blocks are smaller than a channel.
local function per_block(op)
  local sizes, scale = block_sizes(op)
  for i = 2, sizes and #sizes or 0 do
    if scale.shape[i] > 1 then return sizes end
  end
end

local function sizes_text(list) return "[" .. table.concat(list, ", ") .. "]" end

-- A vector of scales applied to a palette, or to what comes out of it.
local function scaled_palette(op)
  local lut = op.args.lut and op.args.lut.op
  if lut and (linear[lut.type] or palettes[lut.type]) then return lut end
  for _, user in ipairs(op.out.users) do
    if linear[user.type] and (user.args.scale and user.args.scale.count or 1) > 1 then return user end
  end
end

local function is_sensitive_use(op, v)
  if flow.is_norm(op) then return "a norm" end
  if op.type == "scaled_dot_product_attention" then return "the attention" end
  if op.type ~= "mul" and op.type ~= "add" then return nil end
  local other = op.args.x == v and op.args.y or op.args.x
  if not other or other.static then return nil end
  local from = flow.back(other, function(p) return p.type == "mul" or flow.is_layout(p) end)
  if from.op and (from.op.type == "rsqrt" or flow.is_norm(from.op)) then return "a norm" end
  if other.op and other.op.type == "mul" and (other.op.args.x.op and other.op.args.x.op.type == "rsqrt" or other.op.args.y.op and other.op.args.y.op.type == "rsqrt") then
    return "a norm"
  end
  if v.op.out.name:find "cos" or v.op.out.name:find "sin" then return "a table of positions" end
end

-- Layers with weights: { op, weight, packed } of a function.
local function weighted(fn)
  return flow.once(fn, "weighted", function()
    local list = {}
    for _, type in ipairs(layers) do
      for _, op in ipairs(flow.by_type(fn)[type] or {}) do
        local w = flow.weight(op)
        if w then list[#list + 1] = { op = op, weight = w, packed = flow.compression(w) } end
      end
    end
    return list
  end)
end

local function stored_bits(w)
  local packed = flow.compression(w)
  if not packed then return flow.source(w).bits or 0 end
  local bits = 0
  for _, v in pairs(packed.args) do bits = bits + (v.bits or 0) end
  return bits
end

local function function_bits(fn)
  local all, packed = 0, 0
  for _, layer in ipairs(weighted(fn)) do
    local bits = stored_bits(layer.weight)
    all = all + bits
    if layer.packed then packed = packed + bits end
  end
  return all, packed
end

local constexprs = { "constexpr_lut_to_dense", "constexpr_lut_to_sparse", "constexpr_affine_dequantize", "constexpr_blockwise_shift_scale",
  "constexpr_sparse_to_dense", "constexpr_sparse_blockwise_shift_scale" }

return {
  { id = "palette_scale", rows = { "M97", "M207", "M234", "M252" }, severity = "error", profiles = NE, sources = { "guide 4.1", "guide 10 row 6" },
    summary = "a palette carries no scale of its own for each channel",
    way_out = "leave enable_per_channel_scale at False, as the shipped recipe does; a session of the same vendor turns it on (palette_scales = session)",
    exempt = { "one scale for the whole tensor", "palette_scales = session, where the other source is followed" },
    applies = function(p) return p.palette_scales ~= "session" end,
    each = "op", ops = { "constexpr_lut_to_dense", "constexpr_lut_to_sparse" },
    check = function(op, say)
      local scale = scaled_palette(op)
      if scale then say(("scaled by %s: lowered to a table of six axes, the unit is left without a word"):format(scale.name)) end
    end },

  { id = "compression_granularity", rows = { "M91" }, severity = "warning", profiles = NE, sources = { "guide 3" },
    summary = "on iOS linear weights have one scale a channel; palettes have 2, 4, 6 or 8 bits",
    way_out = "quantise by channel, or palettise in groups of channels",
    each = "op", ops = { "constexpr_blockwise_shift_scale", "constexpr_lut_to_dense" },
    check = function(op, say)
      if op.type == "constexpr_lut_to_dense" then
        local bits = palette_bits(op)
        if bits and bits % 2 == 1 then say(("a palette of %d bits"):format(bits)) end
        return
      end
      local blocks = per_block(op)
      if blocks then say(("blocks of %s share a scale: the layout recommended for macOS"):format(sizes_text(blocks))) end
    end },

  { id = "compression_family", rows = { "M91", "M195" }, severity = "design", profiles = NE, sources = { "guide 8.2" },
    summary = "weights are palettised for the Neural Engine",
    way_out = "palettise; linear weights by channel run too, but tables are the natural fit",
    exempt = { "embedding tables, which the shipped recipes quantise to int8 for the whole tensor", "weights in blocks (compression_granularity says it)" },
    each = "fn",
    check = function(fn, say)
      for _, layer in ipairs(weighted(fn)) do
        if layer.packed and linear[layer.packed.type] and not per_block(layer.packed) then return say("linear weights: the family of the GPU", layer.op) end
      end
    end },

  { id = "compression_family_gpu", rows = { "M91", "M195" }, severity = "warning", profiles = GPU, sources = { "guide 8.2" },
    summary = "weights are quantised linearly for the GPU",
    way_out = "int4 with blocks of 32 is what the macOS presets use",
    each = "fn",
    check = function(fn, say)
      for _, layer in ipairs(weighted(fn)) do
        if layer.packed and palettes[layer.packed.type] then return say("palettised weights: the family of the Neural Engine", layer.op) end
      end
    end },

  { id = "compressed_sensitive", rows = { "M165", "M247" }, severity = "error", profiles = GPU, sources = { "guide 5.5", "guide 11.3" },
    summary = "norms, rotary tables and attention are not compressed",
    way_out = "exclude these modules in the compression configuration",
    each = "op", ops = constexprs,
    check = function(op, say)
      for _, user in ipairs(op.out.users) do
        local what = is_sensitive_use(user, op.out)
        if what then return say(("a compressed constant feeds %s (%s)"):format(what, user.name)) end
      end
    end },

  { id = "compression_bits", rows = { "M197" }, severity = "error", profiles = { "neural-engine", "gpu" }, sources = { "guide 9.3" },
    summary = "each function has the bits that its recipe declares",
    way_out = "one flag for all bits overrides every part of an asymmetric recipe: set them apart",
    applies = function(p) return next(p.bits) ~= nil end,
    each = "fn",
    check = function(fn, say, cx)
      local want = cx.facts.bits[fn.name]
      for _, layer in ipairs(want and weighted(fn) or {}) do
        local bits = layer.packed and (palettes[layer.packed.type] and palette_bits(layer.packed) or weight_bits(layer.packed)) or 16
        if (layer.weight.count or 0) >= BIG and bits ~= want then return say(("%d bits, declared are %d"):format(bits, want), layer.op) end
      end
    end },

  { id = "palette_skipped", rows = { "M216" }, severity = "warning", profiles = NE, sources = { "guide 10 row 15" },
    summary = "where weights are palettised, no large one was skipped",
    way_out = "read the export log for \"Skipping palettization\"; waive what was left out on purpose",
    exempt = { "weights below 2048 elements", "the head and embedding tables, which the shipped recipes exclude" },
    each = "fn",
    check = function(fn, say)
      local any = false
      for _, layer in ipairs(weighted(fn)) do any = any or layer.packed and palettes[layer.packed.type] end
      for _, layer in ipairs(any and weighted(fn) or {}) do
        if not layer.packed and (layer.weight.count or 0) >= BIG and not flow.is_head(layer.op) then
          say(("%s %s is stored as it is"):format(layer.weight.dtype, flow.shape_text(layer.weight)), layer.op)
        end
      end
    end },

  { id = "compression_bound", rows = { "M196" }, severity = "design", profiles = NE, sources = { "guide 8.2" },
    summary = "compression pays where a layer waits for its weights",
    way_out = "measure with and without; a layer that uses each weight a thousand times is bound by arithmetic",
    exempt = { "fewer than 1024 uses of a weight" },
    each = "fn",
    check = function(fn, say)
      for _, layer in ipairs(weighted(fn)) do
        local out = layer.op.out
        if layer.packed and layer.op.type == "conv" and out.count then
          local uses = out.count // math.max(out.shape[2], 1)
          if uses >= 1024 then say(("each weight is used %d times"):format(uses), layer.op) end
        end
      end
    end },

  { id = "compression_share", rows = { "M198" }, severity = "design", profiles = { "neural-engine", "gpu" }, sources = { "guide 9.3" },
    summary = "compression goes where the bytes are",
    way_out = "leave the small function at fp16: it saves little and is often the sensitive one",
    exempt = { "programs of one function", "functions with a twentieth of the bytes or more" },
    each = "program",
    check = function(graph, say)
      local total, rows = 0, {}
      for i, fn in ipairs(graph.functions) do
        local all, packed = function_bits(fn)
        rows[i], total = { fn = fn, all = all, packed = packed }, total + all
      end
      for _, row in ipairs(#rows > 1 and rows or {}) do
        if row.packed > 0 and row.all * 20 < total then
          say(("%.1f %% of the stored bytes"):format(100 * row.all / total), row.fn)
        end
      end
    end },

  { id = "expert_blocks", rows = { "M168", "M243" }, severity = "error", profiles = GPU, sources = { "guide 5.7" },
    summary = "expert weights of four axes are quantised in blocks of [1, 1, 1, 32]",
    way_out = "give the switch layers their own specification: block_size = [1, 1, 1, 32], axis = None",
    exempt = { "weights of convolutions, which have four axes too" },
    each = "op", ops = { "constexpr_blockwise_shift_scale" },
    check = function(op, say)
      local sizes = block_sizes(op)
      if not sizes or #sizes ~= 4 then return end
      for _, user in ipairs(op.out.users) do
        if user.type:find "^conv" then return end
      end
      if sizes_text(sizes) ~= "[1, 1, 1, 32]" then say(("blocks of %s"):format(sizes_text(sizes))) end
    end },
}
