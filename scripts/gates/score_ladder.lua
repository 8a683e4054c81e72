-- What is stored between scores and output? Fixtures of growing amplitude A, where every score of a token with itself is A*A*E and
-- after scaling A*A*sqrt(E): the first rung that overflows tells which of the two is stored, and up to where.

-- What is stored, and the magnitude at which it overflows; 65520 is where rounding to fp16 gives infinity.
local models = {
  { code = "unscaled_scores_saturate", scaled = false, limit = 32768, text = "stores unscaled scores, which saturate at 2^15" },
  { code = "unscaled_scores_stored", scaled = false, limit = 65520, text = "stores unscaled scores in fp16" },
  { code = "scores_saturate", scaled = true, limit = 32768, text = "stores scaled scores, which saturate at 2^15" },
  { code = "scores_stored", scaled = true, limit = 65520, text = "stores scaled scores in fp16" },
}

local function amplitudes(p)
  local list = {}
  for word in p.amplitudes:gmatch "[^%s,]+" do
    local a = math.tointeger(tonumber(word))
    if not a or list[#list] and a <= list[#list] then error(("score_ladder.amplitudes: whole numbers in ascending order are needed, got '%s'"):format(p.amplitudes), 0) end
    list[#list + 1] = a
  end
  return list
end

-- The first amplitude at which the output overflowed and the last one before; a unit that writes zeros for NaN leaves zeros.
local function overflow(list, ev)
  local last, how = 0, nil
  for _, a in ipairs(list) do
    local t = ev:tensor("rung", tostring(a))
    if not t:finite() then how = "not finite" elseif t:max_abs() == 0 then how = "all zero" end
    if how then return last, a, how, t.shape[#t.shape] end
    last = a
  end
  local t = ev:tensor("rung", tostring(list[1]))
  return last, nil, nil, t.shape[#t.shape]
end

return gate_type {
  name = "score_ladder", version = "1.0", summary = "which scores a fused attention stores in fp16, from the amplitude at which it overflows",
  params = { amplitudes = { "string", default = "22,28,40,72,100", help = "rungs, ascending; each needs a fixture ladder-A (fx.attention)" } },
  needs = function(p, _, req)
    for _, a in ipairs(amplitudes(p)) do req:output("rung", { arm = p.arm, fixture = "ladder-" .. a, label = tostring(a) }) end
  end,
  judge = function(p, ev, finding)
    local list = amplitudes(p)
    local last, first, how, E = overflow(list, ev)
    finding:metric("last_finite", last)
    finding:metric("first_overflow", first)
    if not first then
      finding:reason("no_scores_stored", ("stores no scores in fp16: right up to amplitude %d"):format(last))
      return finding:pass()
    end
    local fits = {}
    for _, m in ipairs(models) do
      local unit = m.scaled and E ^ 0.5 or E
      if last * last * unit < m.limit and first * first * unit >= m.limit then fits[#fits + 1] = m end
    end
    local where = ("amplitude %d is %s, %d is right"):format(first, how, last)
    if #fits == 0 then return finding:inconclusive("overflow_unexplained", where .. ": no stored score of a known kind overflows there") end
    for _, m in ipairs(fits) do finding:reason(m.code, ("%s (%s)"):format(m.text, where)) end
    if #fits > 1 then return finding:inconclusive("rungs_too_far_apart", "more than one kind of stored score overflows between these rungs: add one in between") end
    return finding:pass()
  end,
}
