-- Mutants: attention that is wrong in one known way. `assay mutate` runs each through the gates of an experiment and prints
-- which gates see it. A mutant is one function that changes the program of the control, like arm { mutate = ... }.
local mutants = {}

-- The attentions of a program: the product behind each softmax with its query, key, value, scores and probabilities.
local function sites(m)
  local list = {}
  for _, product in ipairs(m:find "matmul") do
    local probabilities = product:arg "x"
    local softmax = probabilities and probabilities.op
    if softmax and softmax.type == "softmax" then
      local s = softmax:arg "x"
      while s.op and s.op.type ~= "matmul" do s = s.op:arg "x" end
      if not s.op then error("mutants: the scores are not a matmul", 0) end
      list[#list + 1] = { q = s.op:arg "x", k = s.op:arg "y", v = product:arg "y", scores = s, weights = probabilities, softmax = softmax, out = product.out }
    end
  end
  if #list == 0 then error("mutants: the control holds no attention spelled with softmax and matmul", 0) end
  return list
end

-- A mutant that puts change(m, value, site) in the place of one value of every attention.
local function at(part, change)
  return function(m)
    for _, s in ipairs(sites(m)) do
      m:after(s[part])
      m:replace(s[part], change(m, s[part], s))
    end
  end
end

local function times(factor)
  return function(m, x) return m:mul { x = x, y = factor } end
end

-- x[from .. to) along an axis.
local function part(m, x, axis, from, to)
  local first, last = {}, {}
  for i, n in ipairs(x.shape) do first[i], last[i] = 0, n end
  first[axis + 1], last[axis + 1] = from, to
  return m:slice_by_index { x = x, begin = first, ["end"] = last }
end

-- x with change(m, x[from .. to)) in that place.
local function patched(m, x, axis, from, to, change)
  local n, values = x.shape[axis + 1], {}
  if from > 0 then values[#values + 1] = part(m, x, axis, 0, from) end
  values[#values + 1] = change(m, part(m, x, axis, from, to))
  if to < n then values[#values + 1] = part(m, x, axis, to, n) end
  if #values == 1 then return values[1] end
  return m:concat { values = values, axis = axis, interleave = false }
end

local function rolled(axis)
  return function(m, x)
    local n = x.shape[axis + 1]
    return m:concat { values = { part(m, x, axis, 1, n), part(m, x, axis, 0, 1) }, axis = axis, interleave = false }
  end
end

local function tail_zero(m, x)
  local n = x.shape[3]
  local ragged = n % 16 > 0 and n % 16 or math.min(16, n)
  return patched(m, x, 2, n - ragged, n, times(0))
end

local function one_row_zero(m, x)
  local row = x.shape[3] // 2
  return patched(m, x, 1, 0, 1, function(_, head) return patched(m, head, 2, row, row + 1, times(0)) end)
end

local function head_dim(x) return x.shape[#x.shape] end

local function keys_and_values_swapped(m)
  for _, s in ipairs(sites(m)) do
    m:after(s.v)
    m:at_end()
    local scores = m:matmul { x = s.q, y = s.v, transpose_y = true }
    local weights = m:softmax { x = scores, axis = -1 }
    m:replace(s.out, m:matmul { x = weights, y = s.k })
  end
end

-- { name, function, needs }: `needs` names what must be larger than one for the mutant to differ from the original.
mutants.list = {
  { "zero_output", at("out", times(0)) },
  { "constant_output", at("out", function(m, x) return m:add { x = m:mul { x = x, y = 0 }, y = 0.25 } end) },
  { "output_doubled", at("out", times(2)) },
  { "gain_high", at("out", times(1 + 2 ^ -6)) },
  { "gain_low", at("out", times(1 - 2 ^ -6)) },
  { "scale_twice", at("q", function(m, x) return m:mul { x = x, y = 1 / math.sqrt(head_dim(x)) } end) },
  { "scale_missing", at("q", function(m, x) return m:mul { x = x, y = math.sqrt(head_dim(x)) } end) },
  { "scale_of_model_width", at("q", function(m, x) return m:mul { x = x, y = 1 / math.sqrt(x.shape[2]) } end), "heads" },
  { "scale_3_percent_off", at("q", times(1.03)) },
  { "uniform_attention", at("scores", times(0)) },
  { "q_k_swapped", at("scores", function(m, _, s) return m:matmul { x = s.k, y = s.q, transpose_y = true } end) },
  { "k_v_swapped", keys_and_values_swapped },
  { "softmax_over_queries", at("weights", function(m, _, s) return m:softmax { x = s.softmax:arg "x", axis = -2 } end) },
  { "heads_rotated", at("out", rolled(1)), "heads" },
  { "batch_swapped", at("out", rolled(0)), "batch" },
  { "v_of_other_batch", at("v", rolled(0)), "batch" },
  { "tokens_shifted", at("out", rolled(2)) },
  { "keys_shifted", at("k", rolled(2)) },
  { "one_head_zero", at("out", function(m, x) return patched(m, x, 1, 0, 1, times(0)) end) },
  { "one_row_zero", at("out", one_row_zero) },
  { "ragged_tail_zero", at("out", tail_zero) },
  { "layout_misread", at("out", function(m, x) return m:reshape { x = m:transpose { x = x, perm = { 0, 2, 1, 3 } }, shape = x.shape } end), "heads" },
}

-- Adds a mutant of your own: mutants.add("name", function(m) ... end), in the script of the experiment.
function mutants.add(name, change) mutants.list[#mutants.list + 1] = { name, change } end

local judged = { parity = true, dead_path = true, sensitivity = true }

-- Words of an experiment, its nested lists opened.
local function words(list, out)
  for _, item in ipairs(list) do
    if next(item) == 1 and type(item[1]) == "table" then words(item, out) else out[#out + 1] = item end
  end
  return out
end

local function copied(item)
  local out = {}
  for key, value in pairs(item) do
    if type(key) == "string" then out[key] = value end
  end
  return out
end

-- The experiment that `assay mutate` runs: the same fixtures, reference and similarity gates, once for the candidate and once
-- for every mutant of the control. Called by assay with the experiment that the script returned.
function mutants.experiment(e)
  local out, gates, control, candidate = copied(e), {}, nil, nil
  for _, w in ipairs(words(e, {})) do
    if w.role == "control" then control = w.name end
    if w.role == "candidate" then candidate = candidate or w.name end
    if judged[w.use] then gates[#gates + 1] = w end
    if w.role or w.inputs or w.recipe or w.file or w.program or (w.precision and w.arm) or w.cut then out[#out + 1] = w end
  end
  if not control or not candidate then error("mutate: the experiment needs an arm of role control and one of role candidate", 0) end
  if #gates == 0 then error("mutate: the experiment has no gate parity, dead_path or sensitivity", 0) end
  local shapes = e.shapes or {}
  local size = { batch = shapes.x and shapes.x[1] or 1, heads = shapes.heads or 1 }
  local function judge(name)
    for _, g in ipairs(gates) do
      if (g.arm or candidate) == candidate then
        local params = copied(g)
        params.arm = name
        out[#out + 1] = gate(params)
      end
    end
  end
  judge(candidate)
  for _, mutant in ipairs(mutants.list) do
    if not mutant[3] or size[mutant[3]] > 1 then
      out[#out + 1] = arm { name = "mutant." .. mutant[1], role = "candidate", like = control, mutate = mutant[2] }
      judge("mutant." .. mutant[1])
    end
  end
  out.stop = "never"
  return experiment(out)
end

return mutants
