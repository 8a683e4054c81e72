-- An M2 Ultra under macOS 26.5.2: the fused op is placed on the Neural Engine and comes out as zeros (N12), a mask sends it
-- to the CPU (N13).
return {
  schema = 1, id = "m2ultra-macos26.5.2", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "M2 Ultra Mac", os = "macOS 26.5.2", build = "unknown", toolchain = "unknown" },
  placement_first = {
    { id = "N13", when = { op = "scaled_dot_product_attention", arg_dtype = { attn_mask = "fp16" } }, device = "cpu", grade = "F", source = "P" },
    { id = "N12b", when = { op = "scaled_dot_product_attention", arg_dtype = { attn_mask = "bool" } }, device = "ane", grade = "I", source = "P: failed, mode not stated" },
  },
  numerics = { ane = { subnormal_mac = "unknown->keep" } },
  faults = { { id = "N12", when = { op = "scaled_dot_product_attention", on = "ane" }, effect = "zero", grade = "F", source = "P" } },
}
