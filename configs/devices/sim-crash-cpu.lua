-- N16: the fused op on the CPU ends the process, so the CPU-only negative dies. That is no verdict about the candidate.
return {
  schema = 1, id = "sim-crash-cpu", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  faults = { { id = "N16", when = { op = "scaled_dot_product_attention", on = "cpu" }, effect = "crash", grade = "F", source = "KS" } },
}
