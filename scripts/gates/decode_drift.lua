-- Does a decode keep up with the reference token by token, call after call? Rows M144, M145, M147, M148.

-- SNR in dB of each token; identical tokens count as 200 dB, undefined ones stay NaN.
local function curve(candidate, reference, axis)
  local list = {}
  for i = 0, reference.shape[axis + 1] - 1 do
    local f = candidate:slice(axis, i, 1):agreement(reference:slice(axis, i, 1))
    list[i + 1] = f.identical and 200 or f.snr_db
  end
  return list
end

local function mean(list, first, last)
  local sum, n = 0, 0
  for i = math.max(1, first), math.min(#list, last) do sum, n = sum + list[i], n + 1 end
  return sum / n
end

-- Least-squares slope in dB a token.
local function slope(list)
  local n, top, below = #list, 0, 0
  local middle, level = (n + 1) / 2, mean(list, 1, n)
  for i, v in ipairs(list) do top, below = top + (i - middle) * (v - level), below + (i - middle) * (i - middle) end
  return top / below
end

local function first_below(list, limit)
  for i, v in ipairs(list) do
    if not (v >= limit) then return i - 1 end
  end
end

-- True when every token of t has the same values although the reference's tokens differ.
local function stuck(candidate, reference, axis)
  local moved = false
  for i = 1, reference.shape[axis + 1] - 1 do
    if not candidate:slice(axis, i, 1):equals(candidate:slice(axis, 0, 1)) then return false end
    moved = moved or not reference:slice(axis, i, 1):equals(reference:slice(axis, 0, 1))
  end
  return moved
end

-- Whether each call starts where the first did: tokens of every call equal those of the first, and the reference's do not.
local function repeats_first_call(candidate, reference, axis, chunk)
  local tokens = reference.shape[axis + 1]
  if tokens < 2 * chunk then return false end
  local function same(t) return t:slice(axis, 0, chunk):equals(t:slice(axis, chunk, chunk)) end
  return same(candidate) and not same(reference)
end

-- What a curve that failed looks like; nil when it looks like nothing known.
local function explain(list, chunk, limit, first_bad)
  local calls = #list // chunk
  if calls < 2 then return end
  local first, rest = mean(list, 1, chunk), mean(list, chunk + 1, #list)
  if first_bad >= chunk and mean(list, 1, chunk) >= limit then
    return "later_calls_only", "the first call is right: look at what the cache holds (key before the rotation, key and value swapped, lost state, positions)"
  end
  if first < rest - 3 then
    return "first_call_worst", "the first call is the worst and the error fades as keys arrive: empty slots are unmasked (offset = chunk_end, or slots k >= t + j seen)"
  end
end

return gate_type {
  name = "decode_drift", version = "1.0", summary = "every token of a decode agrees with the reference, and no call forgets the one before",
  params = {
    snr_min_db = { "number", help = "what each token must reach" },
    chunk = { "integer", default = 1, min = 1, help = "tokens of one call" },
    token_axis = { "integer", default = 2, min = 0, help = "axis of the tokens" },
    min_tokens = { "integer", default = 64, min = 1, help = "fewer tokens decide nothing" },
    warn_loss_db_per_50 = { "number", default = 5, help = "a fall of the curve by this much in 50 tokens is reported" },
  },
  needs = function(p, _, req)
    req:output("reference", { arm = "@reference", fixture = p.fixture })
    req:output("candidate", { arm = p.arm, fixture = p.fixture })
  end,
  judge = function(p, ev, finding)
    local r, c = ev:tensor "reference", ev:tensor "candidate"
    local tokens = r.shape[p.token_axis + 1]
    if not tokens then return finding:invalid("no_token_axis", ("the reference has no axis %d"):format(p.token_axis)) end
    if table.concat(r.shape, ",") ~= table.concat(c.shape, ",") then return finding:kill("shape_mismatch", "candidate and reference differ in shape") end
    local list = curve(c, r, p.token_axis)
    local fall = tokens > 1 and slope(list) or 0
    finding:metric("candidate.tokens", tokens)
    finding:metric("candidate.snr_db_first", list[1], "dB")
    finding:metric("candidate.snr_db_last", list[tokens], "dB")
    finding:metric("candidate.slope_db_per_50", fall * 50, "dB")
    finding:detail("snr_db_per_token", list)
    if not c:finite() then return finding:kill("nonfinite_output", "the candidate holds NaN or infinity") end
    if tokens > 1 and stuck(c, r, p.token_axis) then return finding:kill("same_output_every_call", "every token gives the same output: the calls start from the same state") end
    if repeats_first_call(c, r, p.token_axis, p.chunk) then return finding:kill("call_repeated", "the second call gives what the first gave: nothing of the first is kept") end
    local bad = first_below(list, p.snr_min_db)
    finding:metric("candidate.first_bad_token", bad)
    if bad then
      local code, text = explain(list, p.chunk, p.snr_min_db, bad)
      if code then finding:reason(code, text) end
      return finding:kill("token_below_min", ("token %d has %.1f dB, %.1f are wanted"):format(bad, list[bad + 1], p.snr_min_db), ("token %d, call %d"):format(bad, bad // p.chunk))
    end
    if tokens >= 50 and not (fall * 50 > -p.warn_loss_db_per_50) then
      finding:reason("drift_per_token", ("the curve falls by %.1f dB in 50 tokens: use calls of 64 tokens, or keep the cache in fp32 on the host"):format(-fall * 50))
    end
    if p.chunk == 1 and tokens > 50 then finding:reason("prefill_token_by_token", "more than 50 tokens, one a call: prompts are better given in chunks of 64") end
    if tokens < p.min_tokens then return finding:inconclusive("too_few_tokens", ("%d tokens; %d are needed before a decode may be called right"):format(tokens, p.min_tokens)) end
    if tokens < p.chunk then
      return finding:inconclusive("shorter_than_a_chunk", ("%d tokens, a call takes %d: no seam between two calls was seen"):format(tokens, p.chunk))
    end
    return finding:pass()
  end,
}
