-- Which axis of an input each axis of a value is: followed through transposes, 1x1 convolutions and elementwise ops.
local flow = require "rules.flow"

local axes = {}

local function perm_of(op)
  if not op or op.type ~= "transpose" then return nil end
  local perm, list = flow.numbers(op, "perm"), {}
  for i, p in ipairs(perm or {}) do list[i] = p < 0 and p + #perm + 1 or p + 1 end
  return perm and list
end

function axes.perm_text(op)
  local list = {}
  for i, p in ipairs(perm_of(op)) do list[i] = tostring(p - 1) end
  return "(" .. table.concat(list, ", ") .. ")"
end

local function single_user(v) return #v.users == 1 and not v.output and v.users[1] or nil end

-- The transposes around a 1x1 convolution: the one in front, and the first behind it that ends in a sum, a layer, a norm or an
-- output. nil where there is none.
function axes.bracket(conv)
  if not flow.is_conv1x1(conv) or conv.out.rank ~= 4 then return nil end
  local before = perm_of(conv.args.x.op) and conv.args.x.op
  local next = single_user(conv.out)
  while before and next and flow.is_elementwise(next) and next.out do next = single_user(next.out) end
  if not before or not perm_of(next) then return nil end
  if next.out.output then return before, next end
  for _, user in ipairs(next.out.users) do
    if flow.is_elementwise(user) or flow.is_norm(user) or flow.weight(user) then return before, next end
  end
end

-- Does `after` undo `before`, apart from axes of one element?
function axes.inverse(before, after)
  local p, q = perm_of(before), perm_of(after)
  local x = before.args.x
  if #p ~= #q then return false end
  local back = {}
  for i = 1, #q do
    local axis = p[q[i]]
    if x.shape[axis] ~= 1 then back[#back + 1] = axis end
  end
  for i = 2, #back do
    if back[i] <= back[i - 1] then return false end
  end
  return true
end

-- ---- labels: for each axis, the axis of the input that it is ("x.1")
local keeps = flow.set { "softmax", "layer_norm", "instance_norm", "batch_norm", "l2_norm", "log_softmax" }

local function of_transpose(label, perm)
  local list = {}
  for i, p in ipairs(perm) do list[i] = label[p] end
  return list
end

-- Two labelled values of one shape in one op: do they say different axes where it matters?
local function conflict(a, b, va, vb)
  if va.rank ~= vb.rank then return false end
  for i = 1, va.rank do
    if va.shape[i] ~= 1 and vb.shape[i] ~= 1 and a[i] ~= b[i] then
      for k = 1, va.rank do                          -- the same input's axes in another order; anything else is not known to be wrong
        if k ~= i and b[i] == a[k] then return true end
      end
    end
  end
  return false
end

local function label_of(op, labels)
  local x = flow.data(op)
  local perm = perm_of(op)
  if perm then return labels[x] and #perm == x.rank and of_transpose(labels[x], perm) end
  if flow.is_conv1x1(op) then return labels[op.args.x] end
  if op.type == "linear" then return labels[op.args.x] end
  if flow.is_elementwise(op) or keeps[op.type] then
    for _, v in ipairs(op.operands) do
      if labels[v] and op.out and v.rank == op.out.rank then return labels[v] end
    end
  end
end

-- Sums of values whose axes differ, and outputs with an input's shape whose axes are in another order.
function axes.faults(fn)
  local labels, faults = {}, {}
  for _, v in ipairs(fn.inputs) do
    if flow.is_activation(v) and v.rank == 4 then
      labels[v] = {}
      for i = 1, v.rank do labels[v][i] = v.name .. "." .. i - 1 end
    end
  end
  for _, op in ipairs(fn.ops) do
    local seen
    for _, v in ipairs(flow.is_elementwise(op) and op.operands or {}) do
      if seen and labels[v] and conflict(labels[seen], labels[v], seen, v) then
        faults[#faults + 1] = { at = op, message = ("%s and %s have their axes in different orders"):format(seen.name, v.name) }
        break
      end
      if labels[v] then seen = seen or v end
    end
    if op.out then labels[op.out] = label_of(op, labels) end
  end
  for _, out in ipairs(fn.outputs) do
    for _, x in ipairs(fn.inputs) do
      if labels[out] and labels[x] and flow.shape_text(out) == flow.shape_text(x) and conflict(labels[x], labels[out], x, out) then
        faults[#faults + 1] = { at = out, message = ("comes back in the shape of %s with its axes in another order"):format(x.name) }
      end
    end
  end
  return faults
end

return axes
