-- Known arithmetic: the query is scaled first, and everything is stored in fp16.
return {
  schema = 1, id = "sim-arith-preq", simulated = true, base = "sim-units",
  numerics = { ane = { store = "declared", accumulate = "fp32", order = "preq", softmax = "f16wide", grade = "I" } },
}
