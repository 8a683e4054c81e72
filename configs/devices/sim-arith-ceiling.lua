-- Known arithmetic: as sim-arith-post, and what is stored saturates at 2^15.
return {
  schema = 1, id = "sim-arith-ceiling", simulated = true, base = "sim-units",
  numerics = { ane = { store = "declared", accumulate = "fp32", order = "post", softmax = "f16wide", matmul_store_ceiling = 32768, grade = "I" } },
}
