-- The words: checked against their schema when they are written.
local T = {}
local function build() end

function T.fields_of_recipes_are_checked()
  local fx = require "assay.fixtures"
  local shape = { 1, 4 }
  t.fails(function() fx.seeded { label = "x", shape = shape, scal = 2 } end, "assay.normal: unknown field 'scal' (did you mean 'scale'?)")
  t.fails(function() fx.seeded { shape = shape } end, "assay.normal: label is needed")
  t.fails(function() assay.full { valeu = 1, shape = shape } end, "assay.full: unknown field 'valeu' (did you mean 'value'?)")
  t.fails(function() assay.band { shape = { 4, 4 }, blow = 1 } end, "assay.band: unknown field 'blow' (did you mean 'below'?)")
  t.fails(function() fx.projections { label = "x", width = 4, gian = 2 } end, "fx.projections: unknown field 'gian' (did you mean 'gain'?)")
  t.fails(function() fx.projections { width = 4 } end, "fx.projections: label and width are needed")
  t.ok(fx.seeded { label = "x", shape = shape, scale = 2, dtype = "fp32" })
end

function T.rejects_unknown_field()
  t.fails(function() arm { name = "fused", rol = "control", build = build } end, "arm \"fused\": unknown field 'rol' (did you mean 'role'?)")
  t.fails(function() kill { gate = "parity", when = "cosine < 0.5" } end, "kill \"parity\": unknown field 'when'; 'assay schema' lists them")
end

function T.seeds_are_a_closed_set()
  t.fails(function() experiment { name = "s", seeds = { fixtur = 1 } } end, "seeds: expected fixture, order or script, got string \"fixtur\" (did you mean 'fixture'?)")
end

function T.rejects_missing_field()
  t.fails(function() arm { name = "fused", build = build } end, "arm \"fused\": missing field 'role'")
  t.fails(function() claim { text = "x", needs = { "parity" } } end, "claim: missing field 'id'")
end

function T.rejects_wrong_type()
  t.fails(function() arm { name = 3, role = "control", build = build } end, "arm.name: expected name, got number 3")
  t.fails(function() arm { name = "a", role = "control", build = 3 } end, "arm \"a\".build: expected function, got number 3")
  t.fails(function() kill { gate = "latency", metric = "x", at_most = "0", why = "y" } end, "kill \"latency\".at_most: expected number, got string \"0\"")
  t.fails(function() fixture { name = "f", inputs = { x = 3 } } end, "fixture \"f\".inputs.x: expected a file path, recipe, tensor or function, got number 3")
end

function T.rejects_wrong_choice()
  t.fails(function() arm { name = "a", role = "candidat", build = build } end,
    "arm \"a\".role: expected control, candidate, negative, must_fail or mutant, got string \"candidat\" (did you mean 'candidate'?)")
  t.fails(function() fixture { name = "f", inputs = { x = "x.npy" }, use = { "ded" } } end, "fixture \"f\".use: expected finite, dead")
end

function T.wants_exactly_one_source()
  t.fails(function() arm { name = "a", role = "control" } end, "needs exactly one of build, package, convert or like, got none")
  t.fails(function() arm { name = "a", role = "control", build = build, like = "b" } end, "got several")
end

function T.names_are_plain()
  t.fails(function() arm { name = "../a", role = "control", build = build } end, "is not a plain name")
end

function T.kills_are_data()
  t.fails(function() kill { gate = "g", metric = "m", equals = build, why = "w" } end, "kill \"g\".equals: expected number, string or boolean, got function")
end

function T.compare_takes_two_arms()
  t.fails(function() compare { "a", fixture = "f" } end, "compare: needs the names of two arms or more")
  t.ok(compare { "a", "b" })
end

function T.a_word_is_called_with_a_table()
  t.fails(function() arm "fused" end, "arm: expected a table, arm { ... }, got string \"fused\"")
end

function T.accepts_what_is_right()
  t.ok(arm { name = "a", role = "control", build = build, with = { mask = { 1 } }, change = "spelling" })
  t.ok(gate { use = "anything", its = "own", parameters = { 1, 2 } })
end

return T
