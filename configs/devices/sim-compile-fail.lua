-- K1: the Neural Engine compile fails, loading goes on, everything runs on the CPU.
return {
  schema = 1, id = "sim-compile-fail", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  faults = { { id = "K1", when = { op = "scaled_dot_product_attention", on = "ane" }, effect = "compile_fail", grade = "F", source = "W3702, KS" } },
}
