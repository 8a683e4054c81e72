-- The last rows of the fused op are never written: a mean over the tensor hardly sees it, the row gate does.
return {
  schema = 1, id = "sim-tail-zero", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  faults = { { id = "tail-zero", when = { op = "scaled_dot_product_attention", on = "ane" }, effect = "tail_zero", rows = 2, grade = "I", source = "synthetic" } },
}
