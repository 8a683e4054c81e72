-- The rule pack: all rules of this folder, in the order in which they are listed. A rule is one entry of one of these files:
--   id, rows (of the acceptance table), severity (error, warning, design), profiles, applies(facts) (optional), sources,
--   summary (what holds in a right program), way_out, exempt (what it stays silent about, and why),
--   each = "program" | "fn" | "op" (with ops = { types }) | "value" | "site": what check is called with,
--   check(x, say, cx): say(message [, where]) for each finding; cx has fn, graph, facts, the graphs source and control
--   and the table config (a config.json), if given.
local authoring = require "rules.authoring"

local files = { "rules.shapes", "rules.numbers", "rules.structure", "rules.projections", "rules.attention", "rules.masks", "rules.blocks", "rules.cache",
  "rules.convolutions", "rules.compression", "rules.entrypoints", "rules.config" }

local rules = {}
for _, name in ipairs(files) do
  for _, rule in ipairs(require(name)) do rules[#rules + 1] = rule end
end
return authoring.check_rules(rules)
