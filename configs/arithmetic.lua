-- Which arithmetic does a fused attention have? Three probes of one op on q, k, v: the amplitude ladder (which scores are stored, up to
-- where), coordinate fixtures (does every value stand in its place) and the orders of rounding (which of them explains the error).
--   assay run configs/arithmetic.lua --device sim-arith-fold
local attn, fx, orders = require "assay.attention", require "assay.fixtures", require "assay.orders"

-- A head size whose scale is no power of two: with 64 most orders give the same bits.
local SHAPE, AMPLITUDES = { 2, 2, 64, 48 }, { 22, 28, 40, 72, 100 }

-- A named fixture of attention cut to these sizes; one that has a single head and batch item is repeated.
local function cut(name)
  local function one(part)
    return function()
      local t = assay.attention(name, part):tensor():slice(2, 0, SHAPE[3]):slice(3, 0, SHAPE[4])
      if t.shape[1] == 1 then
        local heads = t:copy():concat(t:copy(), 1)
        return heads:concat(heads, 0)
      end
      return t:slice(1, 0, SHAPE[2]):copy()
    end
  end
  return { q = one "q", k = one "k", v = one "v" }
end

local function seeded(name, scale) return fx.seeded { label = "arithmetic/" .. name, shape = SHAPE, scale = scale } end

local fixtures = { fixture { name = "normal", inputs = { q = seeded("q", 2.5), k = seeded("k", 2.5), v = seeded("v", 1) } } }
for _, a in ipairs(AMPLITUDES) do fixtures[#fixtures + 1] = fixture { name = "ladder-" .. a, inputs = cut("ladder-" .. a), use = {} } end
for _, name in ipairs { "coords-s", "coords-hd", "coords-b" } do fixtures[#fixtures + 1] = fixture { name = name, inputs = cut(name), use = {} } end

-- The value that every token must find: the arm that the coordinates are compared with.
local function values(ctx)
  local m = ctx.mil
  m:input("q", SHAPE)
  m:input("k", SHAPE)
  return m:identity { x = m:input("v", SHAPE), name = "attention" }
end

return experiment {
  name = "arithmetic", opset = "iOS18", precision = "fp16", stop = "never",
  shapes = { x = { SHAPE[1], SHAPE[3], SHAPE[2] * SHAPE[4] }, heads = SHAPE[2], head_dim = SHAPE[4] },
  reference { arm = "explicit", precision = "fp64" },
  fixtures,
  arm { name = "explicit", role = "control", build = attn.explicit_qkv_inputs },
  arm { name = "fused", role = "candidate", build = attn.fused_qkv_inputs, change = { "attention_spelling" } },
  arm { name = "values", role = "negative", build = values },
  orders.arms "explicit",
  gate { use = "score_ladder", arm = "fused", amplitudes = table.concat(AMPLITUDES, ",") },
  gate { use = "coordinates", arm = "fused" },
  gate { use = "attribution", arm = "fused", fixture = "normal" },
}
