-- Three units whose arithmetic differs inside the fused attention: the Neural Engine stores nothing, the GPU scales query and key by
-- the root and stores scores and probabilities in fp16, the CPU scales the query and stores them as well.
local function attention(order) return { store = "declared", accumulate = "fp32", order = order, softmax = "f32", grade = "I" } end
local function unit(flops) return { flops = flops, bytes_per_s = 6e10, floor_s = 2e-5, grade = "I" } end
return {
  schema = 1, id = "sim-units", simulated = true,
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  placement = { { id = "any", when = {}, device = "ane", otherwise = "gpu", grade = "I", source = "invented" } },
  numerics = { ane = attention "flash", gpu = attention "split", cpu = attention "preq" },
  cost = {
    ane = unit(4e12), gpu = unit(2e12), cpu = unit(1e12),
    transfer = { floor_s = 1e-4, bytes_per_s = 2e10, grade = "I" },
    fused = { op = "scaled_dot_product_attention", factor = 1.0, grade = "I" },
    jitter = { kind = "none", seed = "units", grade = "I" },
  },
  faults = {},
  load = { compile_ms = { mean = 10, sigma = 0.1 }, warm_ms = { mean = 10, sigma = 0.1 }, grade = "I" },
}
