-- N8 with its flag off: softmax without subtracting the maximum. Flat scores pass, peaked ones overflow.
return {
  schema = 1, id = "sim-noshift", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  faults = { { id = "N8", when = { op = "scaled_dot_product_attention", on = "ane" }, effect = "noshift", grade = "C", source = "AG" } },
}
