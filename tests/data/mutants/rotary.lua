-- Causal attention with rotary positions on q and k, fused in both arms: what the mutants of positions are tried on.
local fx, masks = require "assay.fixtures", require "assay.masks"
local S, E = 32, 16

local function angles()
  local list = {}
  for p = 0, S - 1 do
    for i = 0, E - 1 do list[#list + 1] = p * 10000 ^ (-2 * (i % (E // 2)) / E) end
  end
  return assay.tensor(list, { shape = { 1, 1, S, E }, dtype = "fp32" })
end

local function half(m, x, from)
  return m:slice_by_index { x = x, begin = { 0, 0, 0, from }, ["end"] = { 1, 2, S, from + E // 2 } }
end

local function rotate(m, x)
  local cos, sin = m:cast { x = m:cos { x = m:const(angles()) }, dtype = "fp16" }, m:cast { x = m:sin { x = m:const(angles()) }, dtype = "fp16" }
  local turned = m:concat { values = { m:mul { x = half(m, x, E // 2), y = -1 }, half(m, x, 0) }, axis = -1, interleave = false }
  return m:add { x = m:mul { x = x, y = cos }, y = m:mul { x = turned, y = sin } }
end

local function build(ctx)
  local m, shape = ctx.mil, { 1, 2, S, E }
  local q, k, v = m:input("q", shape), m:input("k", shape), m:input("v", shape)
  local mask = masks.tensor(masks.causal { kind = "bool" }, { B = 1, S = S }, ctx.precision)
  return m:scaled_dot_product_attention { query = rotate(m, q), key = rotate(m, k), value = v, attn_mask = mask, name = "attention" }
end

local function input(name) return fx.seeded { label = "rotary/" .. name, shape = { 1, 2, S, E }, scale = 1.5 } end

return experiment {
  name = "rotary", precision = "fp16",
  mutants = { "rotary_missing", "rotary_keys_straight", "rotary_cached_keys_straight", "rotary_interleaved", "rotary_base_500000", "inputs_by_position",
              "non_contiguous_read", "stale_first_run" },
  fixture { name = "normal", inputs = { q = input "q", k = input "k", v = input "v" } },
  arm { name = "plain", role = "control", build = build },
  arm { name = "same", role = "candidate", like = "plain" },
  gate { use = "parity", arm = "same", max_abs_factor_vs_control = 4 },
}
