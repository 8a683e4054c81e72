-- Known arithmetic: the fused attention stores nothing in between.
return {
  schema = 1, id = "sim-arith-flash", simulated = true, base = "sim-units",
  numerics = { ane = { store = "declared", accumulate = "fp32", order = "flash", softmax = "f32", grade = "I" } },
}
