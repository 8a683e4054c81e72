-- The machine slows down while it is measured: a paired rotation must cancel it.
return {
  schema = 1, id = "sim-drift", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  cost = { jitter = { drift_per_trial = 1e-5, sigma = 0.01, spike_p = 0.0, grade = "I" } },
}
