-- Known arithmetic: the key is scaled first, and everything is stored in fp16.
return {
  schema = 1, id = "sim-arith-prek", simulated = true, base = "sim-units",
  numerics = { ane = { store = "declared", accumulate = "fp32", order = "prek", softmax = "f16wide", grade = "I" } },
}
