-- Known arithmetic: unscaled scores are stored in fp16 and scaled after.
return {
  schema = 1, id = "sim-arith-post", simulated = true, base = "sim-units",
  numerics = { ane = { store = "declared", accumulate = "fp32", order = "post", softmax = "f16wide", grade = "I" } },
}
