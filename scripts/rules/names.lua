-- Near misses among a closed set of names: the same words in another order, or a few letters off.
local names = {}

local function sorted_words(name)
  local words = {}
  for word in name:gmatch "[^_%-%.]+" do words[#words + 1] = word:lower() end
  table.sort(words)
  return table.concat(words, "_")
end

local function edits(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local corner = row[0]
    row[0] = i
    for j = 1, #b do
      local above = row[j]
      local same = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(above + 1, row[j - 1] + 1, corner + same)
      corner = above
    end
  end
  return row[#b]
end

-- The name of `list` that `name` was probably meant to be; nil when it is one of them or nothing is near.
function names.near(name, list)
  local best, best_edits
  for _, known in ipairs(list) do
    if known == name then return nil end
    local n = sorted_words(known) == sorted_words(name) and 0 or edits(name, known)
    if n <= math.max(1, #known // 4) and (not best_edits or n < best_edits) then best, best_edits = known, n end
  end
  return best
end

return names
