-- The fused op keeps its running sums in fp16: the error grows to 5 to 16 times the explicit arm.
return {
  schema = 1, id = "sim-fp16-accumulate", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  faults = { { id = "fp16-accumulate", when = { op = "scaled_dot_product_attention" }, effect = "fp16_accumulate", grade = "I", source = "calibration" } },
}
