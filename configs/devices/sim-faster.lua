-- The same machine with a fused op that takes half the time: an experiment that survives, as a rehearsal.
return {
  schema = 1, id = "sim-faster", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  cost = {
    fused = { factor = 0.5, grade = "I", source = "invented" },
    jitter = { sigma = 0.01, spike_p = 0.0, grade = "I" },
  },
}
