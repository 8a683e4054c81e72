-- luacheck: the words and libraries that scripts see.
std = "lua54"
max_line_length = 180
ignore = { "581" }                        -- `not (x > y)` is how NaN fails
read_globals = { "assay", "experiment", "options", "claim", "prior", "weights", "fixture", "reference", "arm", "gate", "kill", "compare", "sweep", "follows", "record" }
files["scripts/assay/laws.lua"] = { read_globals = { "gate_type" } }
files["scripts/assay/ladders.lua"] = { read_globals = { "gate_type" } }
files["scripts/gates"] = { read_globals = { "gate_type" } }
files["scripts/rules/gate.lua"] = { read_globals = { "gate_type" } }
files["plugins/gates/*/*.lua"] = { read_globals = { "gate_type" } }
files["tests/lua"] = { read_globals = { "t" }, ignore = { "122", "143" } }
files["scripts/meta"] = { ignore = { "111", "112", "121", "122", "131", "211", "212" } }
