-- The fused op ignores the scores and averages the values: silence passes, peaked attention fails.
return {
  schema = 1, id = "sim-uniform", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  faults = { { id = "uniform", when = { op = "scaled_dot_product_attention", on = "ane" }, effect = "uniform", grade = "I", source = "synthetic" } },
}
