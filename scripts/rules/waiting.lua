-- Rows of the acceptance table that the rule pack leaves out, wholly or by half, and who decides them.
return {
  { row = "M110", why = "the grep over authoring scripts for HardwareConstraints waits for the checks of sources; the program half is the rule hand_constraints" },
}
