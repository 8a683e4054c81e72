-- Known arithmetic: running sums are kept in fp16.
return {
  schema = 1, id = "sim-arith-narrow", simulated = true, base = "sim-units",
  numerics = { ane = { store = "declared", accumulate = "fp16", order = "preq", softmax = "f16wide", grade = "I" } },
}
