-- Known arithmetic: query and key are scaled by the root, and everything is stored in fp16.
return {
  schema = 1, id = "sim-arith-split", simulated = true, base = "sim-units",
  numerics = { ane = { store = "declared", accumulate = "fp32", order = "split", softmax = "f16wide", grade = "I" } },
}
