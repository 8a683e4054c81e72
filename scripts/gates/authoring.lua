-- The authoring rules as a gate: a program is judged by the rule pack under a profile; errors kill, the rest is told.
return require "rules.gate" { name = "authoring", summary = "is the program written as its unit wants it? (the rule pack, under a profile)", rules = require "rules.pack" }
