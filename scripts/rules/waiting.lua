-- Rows of the acceptance table of which the rule pack decides a half or nothing, and who decides the rest. `half` rows have a rule
-- on the program; what waits is the check of the authoring source.
local source = "the program half is a rule; reading the authoring script waits for the checks of sources"
local tensors = "decided on tensors by the gates, not by a rule on the program"
local device = "needs a record of a device: the gates placement, corroboration and latency"

return {
  { row = "M94", why = "the profile has no default: `assay lint` and the gate refuse to judge without one" },
  { row = "M100", why = "a substituted op's error is computed by the accuracy tests of the elementary functions" },
  { row = "M102", why = "that the cast is dropped is a claim of the community: the rule fp32_cast flags it, the effect is declared" },
  { row = "M103", why = tensors }, { row = "M104", why = tensors },
  { row = "M110", why = source, half = true },
  { row = "M111", why = "the typed layouts of the tensor part convert exactly, round trip" },
  { row = "M112", why = "the comparator refuses tensors whose declared layouts differ (candidate_layout)" },
  { row = "M132", why = tensors }, { row = "M135", why = tensors }, { row = "M137", why = tensors }, { row = "M138", why = tensors }, { row = "M139", why = tensors },
  { row = "M143", why = tensors }, { row = "M144", why = tensors }, { row = "M145", why = tensors }, { row = "M147", why = tensors }, { row = "M148", why = tensors },
  { row = "M154", why = device }, { row = "M155", why = device },
  { row = "M156", why = "no format of the residency report is known: it is not measured" },
  { row = "M161", why = tensors }, { row = "M164", why = tensors },
  { row = "M166", why = "names of states are a rule; which buffers persist stands in the authoring script and waits for the checks of sources", half = true },
  { row = "M167", why = "nothing here depends on LegalizeToCoreOptions, whose existence is unproven" },
  { row = "M170", why = source, half = true },
  { row = "M171", why = "loading a large model economically is the host's concern" },
  { row = "M188", why = "the spelling si32 stands in the descriptor that the foreign runner reads; no sample of it is public", half = true },
  { row = "M200", why = device }, { row = "M218", why = device },
  { row = "M209", why = tensors }, { row = "M213", why = tensors }, { row = "M214", why = tensors }, { row = "M219", why = tensors }, { row = "M232", why = tensors },
  { row = "M220", why = source, half = true }, { row = "M221", why = source, half = true }, { row = "M222", why = source, half = true },
  { row = "M223", why = source, half = true },
  { row = "M234", why = "the palette is a rule; reading the palettisation specification waits for the checks of sources", half = true },
  { row = "M235", why = tensors },
  { row = "M237", why = "keys of two checkpoints are compared when weights are read (M173)" },
  { row = "M241", why = "names of states are a rule; persistence of buffers waits for the checks of sources", half = true },
  { row = "M245", why = source, half = true }, { row = "M246", why = source, half = true },
}
