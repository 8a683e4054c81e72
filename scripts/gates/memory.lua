-- Does the arm need less memory than its control? Peak footprints of one prediction, as recorded on the target ("memory-record/1");
-- what this machine's executor takes says nothing about it. Rows M76: with `budget_bytes`, a control that fits needs no such change.

-- Bytes of a record's peak, or nothing with the reason.
local function peak(record, role)
  if record.schema ~= "memory-record/1" then return nil, role .. ": the record's schema is not memory-record/1" end
  local bytes = record.peak_bytes
  if math.type(bytes) ~= "integer" or bytes <= 0 then return nil, role .. ": peak_bytes must be a whole number above 0" end
  return bytes
end

return gate_type {
  name = "memory", version = "1.0", summary = "is the arm's peak memory on the target a small enough share of the control's?",
  params = {
    max_ratio = { "number", default = 1, min = 0, help = "largest peak of the arm as a share of the control's" },
    budget_bytes = { "number", optional = true, min = 1, help = "what there is: a control that needs no more gives no reason to save" },
  },
  needs = function(p, _, req)
    req:record("candidate", { arm = p.arm, record = "memory" })
    req:record("control", { arm = p.control, record = "memory" })
  end,
  judge = function(p, ev, finding)
    local candidate, control = ev:record "candidate", ev:record "control"
    local mine, why = peak(candidate, "candidate")
    local its, why_control = peak(control, "control")
    if not (mine and its) then return finding:inconclusive("not_a_memory_record", why or why_control) end
    if candidate.method ~= control.method then return finding:inconclusive("other_method", "the two peaks were not measured in one way") end
    local ratio = mine / its
    finding:metric("peak_ratio", ratio, "1")
    finding:metric("peak_bytes", mine, "bytes")
    finding:metric("control_peak_bytes", its, "bytes")
    if p.budget_bytes and not (its > p.budget_bytes) then
      return finding:kill("not_memory_limited", ("the control's peak of %d bytes fits into the %d that there are: nothing has to be saved"):format(its, p.budget_bytes // 1))
    end
    if not (ratio <= p.max_ratio) then
      return finding:kill("peak_above_ratio", ("peak %d bytes is %.3g of the control's, at most %.3g is allowed"):format(mine, ratio, p.max_ratio))
    end
    return finding:pass()
  end,
}
