-- N18 violated: every fortieth prediction of the fused op differs in one bit.
return {
  schema = 1, id = "sim-flip", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  cost = {
    fused = { factor = 0.5, grade = "I", source = "invented" },
    jitter = { sigma = 0.01, spike_p = 0.0, grade = "I" },
  },
  faults = { { id = "N18", when = { op = "scaled_dot_product_attention", on = "ane" }, effect = "flip", every_n = 40, grade = "I", source = "synthetic" } },
}
