-- Known arithmetic: scaled scores and probabilities are stored in fp16, the softmax is fp32.
return {
  schema = 1, id = "sim-arith-fold", simulated = true, base = "sim-units",
  numerics = { ane = { store = "declared", accumulate = "fp32", order = "fold", softmax = "f32", grade = "I" } },
}
