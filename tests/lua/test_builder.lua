-- ctx.mil: ops as methods, types by the op table, errors that name the Lua line.
local T = {}

function T.infers_shapes_and_types()
  local m = t.mil()
  local x = m:input("x", { 2, 30, 64 })
  t.equal(x.dtype, "fp16")
  local y = m:reshape { x = x, shape = { 2, 30, 4, 16 } }
  local z = m:transpose { y, perm = { 0, 2, 1, 3 }, name = "z" }
  t.equal(table.concat(z.shape, ","), "2,4,30,16")
  t.equal(z.name, "z")
  t.equal(z.op.type, "transpose")
  t.outputs(m, z)
end

function T.numbers_take_the_type_of_what_stands_beside_them()
  local m = t.mil { precision = "fp32" }
  local x = m:input("x", { 2, 3 }, "fp16")
  local y = m:mul { x, 0.125 }
  t.equal(y.dtype, "fp16")
  t.equal(y.op:const("y").dtype, "fp16")
  t.equal(y.op:const("y"):at(), 0.125)
  local s = m:softmax { x, axis = -1 }
  t.equal(s.op:const("axis").dtype, "int32")
  t.equal((x * 2 + 1).op.type, "add")
end

function T.unknown_op_has_a_suggestion()
  local m = t.mil()
  t.fails(function() m:lineer { x = 1 } end, "no op 'lineer' (did you mean 'linear'?)")
end

function T.unknown_parameter_has_a_suggestion_and_a_line()
  local m = t.mil()
  local x = m:input("x", { 2, 3 })
  t.fails(function() m:softmax { x, axes = 1 } end, "softmax: no parameter 'axes' (did you mean 'axis'?)")
  t.fails(function() m:softmax { x, axes = 1 } end, "test_builder.lua:37: ")
end

function T.wrong_shapes_are_refused_with_the_line()
  local m = t.mil()
  local x = m:input("x", { 2, 3 })
  t.fails(function() m:matmul { x, x } end, "test_builder.lua:43: matmul")
  t.fails(function() m:reshape { x = x, shape = { 4, 4 } } end, "reshape")
  t.fails(function() m:reshape { x = x, shape = "no" } end, "reshape.shape: expected a value or constant of type")
end

function T.ops_of_a_later_opset_are_refused()
  local m = t.mil { opset = "iOS17" }
  local q = m:input("q", { 1, 2, 4, 8 })
  t.fails(function() m:scaled_dot_product_attention { q, q, q } end, "needs opset CoreML8 (iOS18) or later")
end

function T.equal_names_get_a_suffix()
  local m = t.mil()
  local x = m:input("x", { 2, 3 })
  t.equal(m:relu({ x, name = "r" }).name, "r")
  t.equal(m:relu({ x, name = "r" }).name, "r_1")
end

function T.values_of_another_program_are_refused()
  local m, other = t.mil(), t.mil()
  local x = other:input("x", { 2, 3 })
  t.fails(function() m:relu { x } end, "relu.x: the value belongs to another program")
end

function T.replace_keeps_the_name_of_an_output()
  local m = t.mil()
  local x = m:input("x", { 2, 3 })
  local y = m:relu { x, name = "y" }
  t.outputs(m, y)
  m:after(y)
  m:replace(y, m:mul { y, 0, name = "dead" })
  local out = m:outputs()[1]
  t.equal(out.name, "y")
  t.equal(out.op.type, "mul")
  t.equal(out.op:arg("x").op.type, "relu")
end

function T.find_gives_reachable_ops_only()
  local m = t.mil()
  local x = m:input("x", { 2, 3 })
  m:relu { x }
  t.outputs(m, m:tanh { x })
  t.equal(#m:find "relu", 0)
  t.equal(#m:find "tanh", 1)
  m:remove_dead()
  t.equal(m:value "relu", nil)
end

return T
