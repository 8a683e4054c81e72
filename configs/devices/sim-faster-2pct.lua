-- The fused layer is about two per cent faster: the interval says so, and 32 layers gain less than 5 ms.
return {
  schema = 1, id = "sim-faster-2pct", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  cost = {
    ane = { bytes_per_s = 1.0e11, grade = "I", source = "invented" },
    fused = { factor = 0.96, grade = "I", source = "invented" },
    jitter = { sigma = 0.01, spike_p = 0.0, grade = "I" },
  },
}
