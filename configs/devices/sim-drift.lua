-- The machine slows down while it is measured, by 1 % in 1000 predictions: arms measured one after the other differ by what only the
-- clock did; a paired rotation cancels it. Predictions of 4 ms keep the drift of a warm-up (2 s) below what counts as not settled.
return {
  schema = 1, id = "sim-drift", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  cost = {
    ane = { floor_s = 4e-3, grade = "I", source = "invented" },
    jitter = { drift_per_trial = 1e-5, sigma = 0.01, spike_p = 0.0, grade = "I" },
  },
}
