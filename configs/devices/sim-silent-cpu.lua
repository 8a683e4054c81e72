-- K2: the plan says Neural Engine, the run happens on the CPU. Only runtime corroboration can tell.
return {
  schema = 1, id = "sim-silent-cpu", simulated = true, base = "m1-macos15.7.7",
  claims = { hardware = "none", os = "none", build = "none", toolchain = "none" },
  faults = { { id = "K2", when = { on = "ane" }, effect = "silent_cpu", grade = "F", source = "P, VX, ME" } },
}
