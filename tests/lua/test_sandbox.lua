-- The sandbox: what a script may see, and what is said about the rest.
local T = {}

function T.globals_are_read_only()
  t.fails(function() x = 1 end, "globals are read-only: write `local x = ...`") -- luacheck: ignore
  t.fails(function() string.len = nil end, "string.len: libraries are read-only")
  t.fails(function() _G.y = 1 end, "globals are read-only")
end

function T.an_unknown_name_is_an_error_with_a_suggestion()
  t.fails(function() return experment end, "unknown name 'experment' (did you mean 'experiment'?)") -- luacheck: ignore
  t.fails(function() return math.floot(1) end, "math has no 'floot' (did you mean 'floor'?)") -- luacheck: ignore
end

function T.a_library_is_a_closed_set_of_names()
  local attn = require "assay.attention"
  t.fails(function() return attn.fuesd end, "assay.attention has no 'fuesd' (did you mean 'fused'?)")
  t.ok(attn.fused and not attn[1])
  attn.mine = true
  t.ok(attn.mine)
end

function T.a_removed_name_says_the_way_out()
  t.fails(function() return os.clock() end, "os.clock is not available in scripts: timing belongs to the latency gate")
  t.fails(function() return io.open "x" end, "io.open is not available in scripts: files are read by fixtures")
  t.fails(function() return load "x = 1" end, "load is not available in scripts")
  t.fails(function() return math.randomseed(1) end, "seeds come from `seeds`")
  t.fails(function() return string.dump(print) end, "only text chunks are loaded")
  t.fails(function() return debug.getinfo(1) end, "debug.getinfo is not available")
  t.fails(function() return coroutine.wrap(print) end, "coroutine.wrap is not available")
end

function T.require_leaves_no_root()
  t.fails(function() require "../secret" end, "a module name is dotted identifiers")
  t.fails(function() require "/etc/passwd" end, "a module name is dotted identifiers")
  t.fails(function() require "assay..attention" end, "a module name is dotted identifiers")
  t.fails(function() require "assay.nothing" end, "no such module; looked beside the script")
  t.ok(require "assay.attention" == require "assay.attention")
end

function T.pairs_has_one_order()
  local keys = {}
  for k in pairs { b = 1, a = 1, 7, 8, c = 1 } do keys[#keys + 1] = tostring(k) end
  t.equal(table.concat(keys, " "), "1 2 a b c")
end

function T.metatables_of_libraries_are_hidden()
  t.equal(getmetatable(string), "read-only")
  t.equal(getmetatable "", "read-only")
  t.equal(("x"):rep(3), "xxx")
end

function T.xpcall_calls_its_handler()
  local ok, said = xpcall(function(a) error(a .. "!", 0) end, function(e) return "handled " .. e end, "x")
  t.equal(ok, false)
  t.equal(said, "handled x!")
  t.equal(select("#", xpcall(function(...) return ... end, print, 1, 2)), 3)
end

function T.random_is_seeded()
  local a, b = math.random(), math.random(6)
  t.ok(a >= 0 and a < 1)
  t.ok(b >= 1 and b <= 6)
end

function T.elementary_functions_are_ours()
  t.equal(math.exp(0), 1.0)
  t.equal(math.log(8, 2), 3.0)
  t.equal(math.atan(1, 1), math.pi / 4)
end

return T
