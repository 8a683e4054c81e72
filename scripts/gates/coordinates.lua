-- Does every output element stand where it should? Fixtures whose values are their own coordinates, and whose scores let each token
-- attend to itself alone: the output must be V, bit for bit, and a value in another place says where it came from.
local axes = { { "coords-s", "token" }, { "coords-hd", "head or channel" }, { "coords-b", "batch item" } }

return gate_type {
  name = "coordinates", version = "1.0", summary = "every token, head, channel and batch item of the output stands in its own place",
  params = { values = { "arm", default = "values", help = "arm whose output is V" } },
  needs = function(p, _, req)
    for _, a in ipairs(axes) do
      req:output("values", { arm = p.values, fixture = a[1], label = a[1] })
      req:output("candidate", { arm = p.arm, fixture = a[1], label = a[1] })
    end
  end,
  judge = function(_, ev, finding)
    local moved = {}
    for _, a in ipairs(axes) do
      local v, c = ev:tensor("values", a[1]), ev:tensor("candidate", a[1])
      if table.concat(v.shape, ",") ~= table.concat(c.shape, ",") then return finding:kill("shape_mismatch", "candidate and values differ in shape") end
      local equal = c:equals(v)
      finding:metric(a[1] .. ".equal", equal)
      if not equal then moved[#moved + 1] = a[2] end
    end
    if #moved == 0 then return finding:pass() end
    return finding:kill("out_of_place", ("not in its place: %s"):format(table.concat(moved, ", ")))
  end,
}
