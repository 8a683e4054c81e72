-- The transcript gate: edits and shifts by hand.
local T = {}

local text = "the quick brown fox jumps over the lazy dog while seven grey geese fly south above a small quiet town"

local function transcript(changes, shift)
  local list, i = {}, 0
  for word in text:gmatch "%a+" do
    i = i + 1
    local new = changes and changes[i] or word
    if new ~= "" then
      for part in new:gmatch "[^ ]+" do list[#list + 1] = { word = part, start = i * 0.3 + (shift or 0) } end
    end
  end
  return { words = list }
end

local function judge(candidate, control, more)
  local p = { wer_max = 0.1, max_shift_ms = 100, wer_above_control = 0.02 }
  for k, v in pairs(more or {}) do p[k] = v end
  return t.judge("transcript", p, { reference = transcript(), candidate = candidate, control = control })
end

-- M75_yes: 20 words, the same ones, a little later.
function T.M75_yes_the_same_words()
  local v = judge(transcript({ "The", [4] = "fox," }, 0.04), transcript(), { policy = "speech-2" })
  t.equal(v.verdict, "pass")
  t.equal(v.metrics.candidate.wer, 0)
  t.ok(math.abs(v.metrics.candidate.max_shift_ms - 40) < 1e-9)
end

-- M75_no: one of each edit is 3 in 20.
function T.M75_no_words_that_change()
  local v = judge(transcript { [2] = "slow", [5] = "", [9] = "dog runs" })
  t.equal(v.metrics.candidate.wer, 0.15)
  t.equal(v.metrics.candidate.substituted, 1)
  t.equal(v.metrics.candidate.deleted, 1)
  t.equal(v.metrics.candidate.inserted, 1)
  t.ok(v.codes:find "wer_above_max")
  t.equal(judge(transcript { [2] = "slow" }).verdict, "pass")
  t.ok(judge(transcript { [2] = "slow" }, transcript()).codes:find "wer_above_control")
  t.equal(judge(transcript { [2] = "slow" }, transcript { [3] = "red" }).verdict, "pass")
  t.ok(judge(transcript(), transcript { [2] = "slow", [3] = "red", [4] = "cat" }).codes:find "control_failed")
end

function T.M75_no_words_that_move()
  t.ok(judge(transcript(nil, 0.2)).codes:find "time_shift")
  t.equal(judge(transcript(nil, 0.2), nil, { max_shift_ms = 250 }).verdict, "pass")
end

function T.too_little_decides_nothing()
  t.ok(judge(transcript(), nil, { min_words = 21 }).codes:find "too_few_words")
  local untimed = transcript()
  for _, w in ipairs(untimed.words) do w.start = nil end
  t.ok(judge(untimed).codes:find "no_times")
  local once = transcript()                      -- one word with a time says nothing about the others
  for i = 2, #once.words do once.words[i].start = nil end
  t.ok(judge(once).codes:find "no_times")
  t.ok(judge({ words = { { word = "no" } } }).codes:find "wer_above_max")
  t.equal(t.judge("transcript", { wer_max = 1, max_shift_ms = 1, wer_above_control = 0 }, { reference = transcript() }).verdict, "not-measured")
end

function T.limits_are_required_and_shapes_checked()
  t.fails(function() t.judge("transcript", {}, {}) end, "required")
  t.fails(function() judge { text = "the" } end, "a list `words`")
  t.fails(function() judge { words = { { text = "the" } } } end, "word 1 has no text")
end

return T
