-- Which order of fp16 arithmetic explains the candidate's rounding? Arms made by `assay.orders` are compared with it. Rows M75, M20.

local texts = {
  nothing_stored = "stores neither scores nor probabilities: fp32 inside, one rounding at the end",
  scores_stored = "stores scores in fp16",
  probabilities_stored = "stores probabilities in fp16",
  both_stored = "stores scores and probabilities in fp16, softmax in fp32",
  both_stored_fp16_scale = "stores scores and probabilities in fp16, softmax in fp32, and rounds the scale to fp16",
  unscaled_scores_stored = "stores unscaled scores in fp16, scales them after",
  query_scaled = "scales the query first, everything stored in fp16",
  key_scaled = "scales the key first, everything stored in fp16",
  both_scaled = "scales query and key by the root, everything stored in fp16",
  narrow_sums = "accumulates in fp16",
  narrow_fused_sums = "accumulates in fp16, product and sum in one step",
}

local function words(text)
  local list = {}
  for word in text:gmatch "[%w_]+" do list[#list + 1] = word end
  return list
end

local function first(fixture) return type(fixture) == "table" and fixture[1] or fixture end

local function distance(candidate, other)
  local f = candidate:agreement(other)
  return f.identical and math.huge or f.snr_db
end

-- Orders by distance from the candidate, nearest first; equal ones in the order given.
local function ranked(candidate, ev, names)
  local list = {}
  for i, name in ipairs(names) do
    local t = ev:tensor("reference", "order_" .. name)
    list[i] = { name = name, db = distance(candidate, t), tensor = t, at = i }
  end
  table.sort(list, function(a, b)
    local x, y = a.db == a.db and a.db or -math.huge, b.db == b.db and b.db or -math.huge
    return x > y or x == y and a.at < b.at
  end)
  return list
end

return gate_type {
  name = "attribution", version = "1.0", summary = "which order of fp16 arithmetic explains the candidate best",
  params = {
    orders = { "string", default = table.concat(require("assay.orders").names, ","),
               help = "names of assay.orders, with commas; the arms are called order_NAME" },
    gap_db = { "number", default = 6, min = 0, help = "by how much an order must be nearer than the reference is" },
  },
  needs = function(p, _, req)
    local fixture = first(p.fixture)
    req:output("reference", { arm = "@reference", fixture = fixture, label = "@reference" })
    req:output("candidate", { arm = p.arm, fixture = fixture })
    for _, name in ipairs(words(p.orders)) do req:output("reference", { arm = "order_" .. name, fixture = fixture, label = "order_" .. name }) end
  end,
  judge = function(p, ev, finding)
    local reference, candidate, names = ev:tensor("reference", "@reference"), ev:tensor "candidate", words(p.orders)
    if #names == 0 then return finding:invalid("no_orders", "orders names no order") end
    if not reference:finite() or not (reference:max_abs() > 0) then
      return finding:invalid("reference_without_signal", "the reference is not finite, or nothing but zeros: no rounding shows")
    end
    local own = distance(candidate, reference)
    local list = ranked(candidate, ev, names)
    finding:metric("candidate.snr_db", own, "dB")
    for _, o in ipairs(list) do
      finding:metric(("order:%s.candidate_snr_db"):format(o.name), o.db < math.huge and o.db or nil, "dB")
      finding:metric(("order:%s.identical"):format(o.name), o.db == math.huge)
    end
    local best, alike = list[1], {}
    if not (best.db >= own + p.gap_db) then
      local text = "the nearest order, %s, is at %.1f dB, the reference at %.1f dB: none of them explains the error"
      return finding:inconclusive("order_unexplained", text:format(best.name, best.db, own))
    end
    for i = 2, #list do
      if list[i].tensor:equals(best.tensor) then alike[#alike + 1] = list[i].name end
    end
    local how = best.db == math.huge and "bit for bit" or ("%.1f dB, next %.1f dB"):format(best.db, #list > 1 and list[2].db or 0 / 0)
    finding:reason("order_" .. best.name, ("%s (%s)"):format(texts[best.name] or best.name, how))
    if #alike > 0 then finding:reason("orders_alike", ("%s cannot be told from it on this fixture"):format(table.concat(alike, ", "))) end
    return finding:pass()
  end,
}
