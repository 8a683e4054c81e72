-- P9' in the gap that nobody tested: between the sizes known to go to the CPU and to the Neural Engine, the unit is unknown. Nobody
-- tested attention spelled out there either: were it known to be placed, an unknown fused op would be a kill (M49), not an open question.
return {
  schema = 1, id = "sim-unknown", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  placement_first = {
    {
      id = "P9'", device = "unknown", grade = "C", source = "VX",
      when = {
        op = "scaled_dot_product_attention", producers = { query = "input", key = "input", value = "input" },
        elements = { arg = "query", gt = 1179648, lt = 2097152 },
      },
    },
    { id = "spelled-out", when = { op = { "matmul", "softmax" } }, device = "unknown", grade = "I", source = "nobody tested it" },
  },
}
