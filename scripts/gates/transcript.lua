-- Do the words that come out stay the same, and at the same time? For a speed-up whose numbers drift. Rows M75.
-- A transcript is { "words": [ { "word": "the", "start": 0.12 }, ... ] }, times in seconds; times may be absent.

local function words_of(record, role)
  if type(record.words) ~= "table" then error(("%s: a transcript is an object with a list `words`"):format(role), 0) end
  for i, w in ipairs(record.words) do
    if type(w) ~= "table" or type(w.word) ~= "string" then error(("%s: word %d has no text `word`"):format(role, i), 0) end
    if w.start ~= nil and type(w.start) ~= "number" then error(("%s: word %d has a `start` that is no number of seconds"):format(role, i), 0) end
  end
  return record.words
end

-- Case and the punctuation around a word are no edits.
local function plain(w) return (w.word:lower():gsub("^%p+", ""):gsub("%p+$", "")) end

-- Edit distances of all prefixes: rows[i+1][j+1] for the first i words of a and j of b.
local function distances(a, b)
  local rows = { {} }
  for j = 0, #b do rows[1][j + 1] = j end
  for i = 1, #a do
    local row, above = { i }, rows[i]
    for j = 1, #b do
      local change = plain(a[i]) == plain(b[j]) and 0 or 1
      row[j + 1] = math.min(above[j] + change, above[j + 1] + 1, row[j] + 1)
    end
    rows[i + 1] = row
  end
  return rows
end

-- The cheapest way from a to b, last word first: substituted, deleted and inserted words, and the largest shift of an equal word in s.
local function align(a, b)
  local rows, i, j = distances(a, b), #a, #b
  local out = { substituted = 0, deleted = 0, inserted = 0, timed = 0, shift = 0, edits = {} }
  local function edit(kind, text) out[kind] = out[kind] + 1; table.insert(out.edits, 1, text) end
  while i > 0 or j > 0 do
    local here = rows[i + 1][j + 1]
    local same = i > 0 and j > 0 and plain(a[i]) == plain(b[j])
    if i > 0 and j > 0 and here == rows[i][j] + (same and 0 or 1) then
      if not same then edit("substituted", ("%d: %s -> %s"):format(i, a[i].word, b[j].word)) end
      if same and a[i].start and b[j].start then
        out.timed, out.shift = out.timed + 1, math.max(out.shift, math.abs(b[j].start - a[i].start))
      end
      i, j = i - 1, j - 1
    elseif i > 0 and here == rows[i][j + 1] + 1 then
      edit("deleted", ("%d: %s ->"):format(i, a[i].word))
      i = i - 1
    else
      edit("inserted", ("%d: -> %s"):format(i, b[j].word))
      j = j - 1
    end
  end
  out.count = out.substituted + out.deleted + out.inserted
  out.wer = out.count / #a
  return out
end

local function report(finding, group, r)
  finding:metric(group .. ".wer", r.wer)
  for _, key in ipairs { "substituted", "deleted", "inserted", "timed" } do finding:metric(("%s.%s"):format(group, key), r[key]) end
  finding:metric(group .. ".max_shift_ms", r.timed > 0 and r.shift * 1000 or nil, "ms")
  finding:detail(group .. "_edits", r.edits)
end

return gate_type {
  name = "transcript", version = "1.0", summary = "word error rate and time shifts of a transcript stay within declared limits",
  params = {
    wer_max = { "number", min = 0, help = "largest word error rate against the reference (0.02 = 2 in 100)" },
    max_shift_ms = { "number", min = 0, help = "largest shift of the start of an equal word" },
    wer_above_control = { "number", min = 0, help = "by how much the rate may exceed the control's, where there is one" },
    policy = { "string", optional = true, help = "id of the policy that allows a speed-up whose numbers drift" },
    min_words = { "integer", default = 20, min = 1, help = "fewer words of the reference decide nothing" },
    reference_record = { "string", optional = true, help = "imported record with the reference's transcript" },
    control_record = { "string", optional = true, help = "imported record with the control's transcript" },
    candidate_record = { "string", optional = true, help = "imported record with the candidate's transcript" },
  },
  needs = function(p, _, req)
    for _, role in ipairs { "reference", "control", "candidate" } do
      local record = p[role .. "_record"]
      if record then req:record(role, { record = record }) end
    end
  end,
  judge = function(p, ev, finding)
    local reference, candidate = words_of(ev:record "reference", "reference"), words_of(ev:record "candidate", "candidate")
    if #reference == 0 then return finding:invalid("empty_reference", "the reference holds no words") end
    local r = align(reference, candidate)
    report(finding, "candidate", r)
    local control = ev:count "control" > 0 and align(reference, words_of(ev:record "control", "control"))
    if control then report(finding, "control", control) end
    if control and not (control.wer <= p.wer_max) then
      return finding:invalid("control_failed", ("the control's own word error rate is %.4g, %.4g are allowed"):format(control.wer, p.wer_max))
    end
    if not (r.wer <= p.wer_max) then return finding:kill("wer_above_max", ("word error rate %.4g, %.4g are allowed; first edit: %s"):format(r.wer, p.wer_max, r.edits[1])) end
    if control and not (r.wer - control.wer <= p.wer_above_control) then
      return finding:kill("wer_above_control", ("word error rate %.4g, the control's %.4g"):format(r.wer, control.wer))
    end
    if r.timed > 0 and not (r.shift * 1000 <= p.max_shift_ms) then
      return finding:kill("time_shift", ("a word starts %.0f ms from where the reference has it, %.0f are allowed"):format(r.shift * 1000, p.max_shift_ms))
    end
    if #reference < p.min_words then return finding:inconclusive("too_few_words", ("%d words; %d are needed"):format(#reference, p.min_words)) end
    local equal = #reference - r.substituted - r.deleted
    if r.timed == 0 or 2 * r.timed < equal then
      return finding:inconclusive("no_times", ("%d of %d equal words have a time in both transcripts; half of them must"):format(r.timed, equal))
    end
    return finding:pass()
  end,
}
