-- P9' in the gap that nobody tested: between the sizes known to go to the CPU and to the Neural Engine, the unit is unknown.
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
  },
}
