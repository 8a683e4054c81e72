-- Tensors and recipes in scripts.
local T = {}

local function small() return assay.tensor({ 1, 2, 3, 4, 5, 6 }, { shape = { 2, 3 }, dtype = "fp32" }) end

function T.has_properties()
  local a = small()
  t.equal(a.dtype, "fp32")
  t.equal(a.rank, 2)
  t.equal(a.count, 6)
  t.equal(tostring(a), "tensor fp32[2,3]")
  t.equal(a:at(1, 0), 4)
end

function T.views_and_copies()
  local a = small()
  t.equal(a:slice(1, 1, 2):at(1, 1), 6)
  t.equal(a:select(0, 1):at(2), 6)
  t.equal(a:permute({ 1, 0 }):at(2, 1), 6)
  t.equal(a:permute({ 1, 0 }):reshape({ 6 }):at(1), 4)
  t.equal(a:to("fp16").dtype, "fp16")
  t.equal(a:concat(a, 0):sum(), 42)
end

function T.comparisons()
  local a, b = small(), small():scale(2)
  t.equal(a:max_abs_diff(b), 6)
  t.ok(a:equals(small()))
  t.ok(not a:equals(b))
  local nan = a:max_abs_diff(assay.full({ value = 0 / 0, shape = { 2, 3 }, dtype = "fp32" }):tensor())
  t.ok(nan ~= nan)
  t.fails(function() a:max_abs_diff(a:slice(0, 0, 1)) end, "shapes differ, [2,3] and [1,3]")
end

function T.sums_repeat_axes_of_size_one()
  local a = small()
  t.equal(a:plus(1):at(1, 2), a:at(1, 2) + 1)
  local row = a:slice(0, 1, 1)
  t.equal(a:plus(row):at(0, 2), a:at(0, 2) + a:at(1, 2))
  t.fails(function() a:slice(0, 0, 1):plus(a) end, "does not fit")
end

function T.extremes_and_bounds_see_nan()
  local a = small()
  local low, high = a:lowest(0), a:highest(0)
  t.equal(low.shape[1], 1)
  t.equal(a:beyond(low, high), 0)
  t.equal(a:plus(0.5):beyond(low, high), 0.5)
  t.equal(a:scale(0):plus(3):slice(1, 0, 1):concat(a:scale(0):plus(4):slice(1, 0, 1), 1):row_norm(), 5)
  local nan = assay.full({ value = 0 / 0, shape = { 2, 3 }, dtype = "fp32" }):tensor()
  local outside, norm, most = nan:beyond(low, high), nan:row_norm(), nan:highest(1):at(0, 0)
  t.ok(outside ~= outside and norm ~= norm and most ~= most)
  t.fails(function() a:lowest(2) end, "no such axis")
end

function T.standardised_rows()
  local rows = assay.tensor({ 1, 3, 5, 5 }, { shape = { 2, 2 }, dtype = "fp32" }):standardised(0)
  t.equal(rows:at(0, 0), -1)
  t.equal(rows:at(0, 1), 1)
  t.ok(not rows:slice(0, 1, 1):finite())         -- a constant row has no variance
  t.equal(assay.tensor({ 5, 5 }, { dtype = "fp32" }):standardised(1e-5):max_abs(), 0)
end

function T.errors_are_said()
  local a = small()
  t.fails(function() a:slice(2, 0, 1) end, "no such axis")
  t.fails(function() a:slice(1, 2, 5) end, "do not fit axis 1 of size 3")
  t.fails(function() a:reshape { 4, 4 } end, "another number of elements")
  t.fails(function() a:at(2, 0) end, "index out of range")
  t.fails(function() return a.shap end, "tensor has no 'shap'")
  t.fails(function() a:to "fp17" end, "unknown dtype 'fp17'")
end

function T.recipes_are_the_stated_bytes()
  t.equal(assay.fixture("normal", "mini"):tensor():digest():sub(1, 16), "388828bc58e686a2")
  t.equal(tostring(assay.fixture("normal", "mini")), "fixture normal mini")
  local n = assay.normal { label = "x/normal", shape = { 8 }, dtype = "fp32" }
  t.equal(n:tensor():at(0) * 65536, -8401)
  t.fails(function() assay.fixture("norml", "mini"):tensor() end, "normal")
end

function T.a_ceiling_holds()
  t.fails(function() assay.full({ value = 0, shape = { 100000, 100000, 10 } }):tensor() end, "tensors of the script would take more than")
end

return T
