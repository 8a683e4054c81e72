-- Example of a gate in Lua: one changed token must move the output.
return gate_type {
  name = "token_flip", version = "1.0", summary = "one changed token must move the output",
  params = {
    position = { "integer", default = 0, min = 0, help = "token to change" },
    batch = { "integer", default = 0, min = 0, help = "batch row it stands in" },
  },
  needs = function(p, _, req)
    req:output("base", { arm = p.arm, fixture = p.fixture })
    req:output("poked", { arm = p.arm, fixture = p.fixture, perturb = { token = { batch = p.batch, position = p.position } } })
  end,
  judge = function(_, ev, finding)
    local a, b = ev:tensor "base", ev:tensor "poked"
    local change = a:max_abs_diff(b)
    finding:metric("max_change", change, "1")
    if not (change > 0) then return finding:kill("no_response", "the output did not move") end
    return finding:pass()
  end,
}
