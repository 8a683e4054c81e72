-- An M1 under macOS 15.7.7, as far as public sources tell: it imitates, and is never evidence about, that machine.
-- Rule ids and grades: docs/reference/device-profiles.md. The first rule that matches an op places it.
return {
  schema = 1, id = "m1-macos15.7.7", simulated = true,
  claims = { hardware = "Macmini9,1", os = "macOS 15.7.7", build = "24G720", toolchain = "coremltools 9" },
  placement = {
    { id = "P1", when = { max_rank = { gt = 5 } }, device = "cpu", grade = "D", source = "NER" },
    { id = "P2", when = { any_dtype = { "fp32" } }, device = "cpu", grade = "D", source = "NER" },
    { id = "P3", when = { compute_dtype = { "int32", "bool" } }, device = "cpu", grade = "C", source = "AG" },
    { id = "P4", when = { shape = "dynamic" }, device = "cpu", grade = "D", source = "AF" },
    { id = "P5", when = { any_dim = { gt = 16384, axis = { -1, -2 } } }, device = "cpu", grade = "C", source = "AG" },
    { id = "P19", when = { op = { "reduce_prod", "one_hot", "non_zero", "band_part", "scatter_nd", "lstm" } }, device = "cpu", grade = "C", source = "AG" },
    { id = "P20", when = { op = { "topk", "argsort", "sin", "cos" } }, device = "cpu", grade = "C", source = "AG" },
    { id = "P14", when = { op = "scaled_dot_product_attention", arg_dtype = { attn_mask = "bool" } }, device = "cpu", grade = "C", source = "AG" },
    { id = "P9", when = { op = "scaled_dot_product_attention", producers = { query = "input", key = "input", value = "input" } }, device = "cpu", grade = "F", source = "P" },
    { id = "P8", when = { graph_flops = { lt = 1e6 } }, device = "cpu", grade = "I", source = "VX, ME" },
    { id = "dflt", when = {}, device = "ane", grade = "F", source = "P10, P11" },
  },
  cost = {
    ane = { flops = 3.25e12, bytes_per_s = 9.0e9, floor_s = 2.3e-4, grade = "C", source = "AG" },
    cpu = { flops = 1.0e12, bytes_per_s = 6.0e10, floor_s = 2.0e-5, grade = "I", source = "invented" },
    transfer = { floor_s = 5.0e-4, bytes_per_s = 2.0e10, grade = "I", source = "invented" },
    fused = { op = "scaled_dot_product_attention", factor = 1.0, grade = "I", source = "no public number" },
    jitter = { kind = "lognormal", sigma = 0.04, drift_per_trial = 0.0, spike_p = 0.01, spike_x = 6, seed = "m1-jitter", grade = "I" },
  },
  numerics = {
    ane = {
      store = "fp16", accumulate = "fp32", order = "flash", softmax = "f16wide", matmul_store_ceiling = 32768,
      subnormal_mac = "flush", nan_input = "inf", indeterminate = "zero", grade = "C", source = "AG",
    },
    -- Ops that an fp32 type sends to the CPU stay in fp32 there.
    cpu = { store = "declared", accumulate = "fp32", order = "preq", softmax = "f32", nan_input = "nan", indeterminate = "nan", grade = "I" },
  },
  faults = {},
  load = { compile_ms = { mean = 900, sigma = 0.2 }, warm_ms = { mean = 60, sigma = 0.1 }, grade = "I" },
}
