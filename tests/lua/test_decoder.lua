-- The decoder library and its gates: every right spelling passes, every known fault is seen.
local decoder, fx = require "assay.decoder", require "assay.fixtures"
local T = {}

local shapes = { x = { 1, 24, 32 }, heads = 4, kv_heads = 2, head_dim = 8, chunk = 4, slots = 28 }
local weights = {}
for k, r in pairs(decoder.weights { label = "test/decoder", width = 32, heads = 4, kv_heads = 2, head_dim = 8, gain = 2.5 }) do weights[k] = r:tensor() end
local x = fx.seeded({ label = "test/decoder/x", shape = shapes.x }):tensor()

local function resized(changes)
  local out = {}
  for k, v in pairs(shapes) do out[k] = v end
  for k, v in pairs(changes or {}) do out[k] = v end
  return out
end

local function build(fn, with, changes)
  local m = t.mil()
  local out = fn { mil = m, shapes = resized(changes), weights = weights, with = with or {}, precision = "fp16", opset = "iOS18" }
  t.outputs(m, table.unpack(out))
  return m
end

local function run(fn, with, changes) return t.run(build(fn, with, changes), { x = x }) end

local function drift(candidate, reference, more)
  local p = { snr_min_db = 40, chunk = 4, min_tokens = 24 }
  for k, v in pairs(more or {}) do p[k] = v end
  return t.judge("decode_drift", p, { candidate = candidate, reference = reference })
end

local reference = t.run(build(decoder.whole), { x = x }, "fp64")

-- M147: the seams of chunks leave no trace, whatever their size; a remainder chunk too.
function T.M147_yes_every_chunk_size_gives_the_single_pass()
  for _, chunk in ipairs { 1, 4, 5, 24 } do
    local got = run(decoder.loop, nil, { chunk = chunk })
    t.equal(drift(got.attention, reference.attention, { chunk = chunk }).verdict, "pass")
    t.ok(got.keys:equals(run(decoder.whole).keys))
  end
end

-- M32_no M33_no M132_no M139_no M142_no M145_no M147_no M186_no M205_no M210_no M213_no M219_no: each fault of the list is killed.
function T.every_fault_is_killed()
  for _, chunk in ipairs { 4, 1 } do
    for _, fault in ipairs(decoder.faults(chunk)) do
      local got = run(decoder.loop, fault[2], { chunk = chunk })
      local v = drift(got.attention, reference.attention, { chunk = chunk })
      if v.verdict ~= "kill" then error(("%s at chunk %d: %s"):format(fault[1], chunk, v.verdict), 0) end
    end
  end
end

-- M132_yes: query head h reads key head h // group, as an einsum over groups would; the other mapping is as good as random.
function T.M132_groups_of_query_heads()
  local whole, swapped = run(decoder.whole), run(decoder.whole, { group = "h % kv_heads" })
  t.ok(whole.attention:agreement(reference.attention).snr_db > 40)
  t.ok(swapped.attention:agreement(reference.attention).snr_db < 10)
  -- heads 0 and 3 read the same key head under both rules
  for _, h in ipairs { 0, 3 } do t.ok(swapped.attention:select(1, h):equals(whole.attention:select(1, h))) end
  t.ok(not swapped.attention:select(1, 1):equals(whole.attention:select(1, 1)))
end

-- M32: the published rule k >= t + j unmasks empty slots; harmless at one token a call, whatever the slots hold.
function T.M32_no_the_published_past_rule()
  local with = { past = "k >= t + j" }
  t.ok(run(decoder.loop, with, { chunk = 1 }).attention:equals(run(decoder.loop, nil, { chunk = 1 }).attention))
  local zeros, stale = run(decoder.loop, with), run(decoder.loop, { past = "k >= t + j", empty = "noise" })
  t.equal(drift(zeros.attention, reference.attention).verdict, "kill")
  t.equal(drift(stale.attention, reference.attention).verdict, "kill")
end

function T.M32_yes_masked_slots_may_hold_anything()
  t.ok(run(decoder.loop, { empty = "noise" }).attention:equals(run(decoder.loop).attention))
end

-- M147_no M213_no: chunk_end is worst in the first chunk, against what the guide says of it.
function T.M213_chunk_end_is_worst_at_first()
  local v = drift(run(decoder.loop, { offset = "chunk_end" }).attention, reference.attention)
  t.equal(v.verdict, "kill")
  t.ok(v.codes:find "first_call_worst")
end

-- M147: what is shorter than one call has no seam, so it shows nothing.
function T.M147_no_a_prompt_shorter_than_a_chunk()
  local r = fx.seeded({ label = "test/64", shape = { 1, 2, 64, 8 }, dtype = "fp32" }):tensor()
  local v = t.judge("decode_drift", { snr_min_db = 40, chunk = 128 }, { candidate = r:to "fp16", reference = r })
  t.equal(v.verdict, "inconclusive")
  t.ok(v.codes:find "shorter_than_a_chunk")
end

-- M213_yes M214_yes M148_yes M210_yes: the right loop's curve is flat, and nothing is said of it.
function T.M148_yes_a_flat_curve()
  local v = drift(run(decoder.loop).attention, reference.attention)
  t.equal(v.verdict, "pass")
  t.equal(v.codes, "")
end

-- M145, M210: a first call that is right proves nothing.
function T.M145_no_a_state_that_is_lost()
  local lost = run(decoder.loop, { state = "lost" })
  local v = drift(lost.attention, reference.attention)
  t.equal(v.verdict, "kill")
  t.ok(v.codes:find "later_calls_only")
  local first = lost.attention:slice(2, 0, 4)
  t.equal(drift(first, reference.attention:slice(2, 0, 4), { min_tokens = 4 }).verdict, "pass")
end

function T.M145_no_the_same_token_for_ever()
  local one = reference.attention:slice(2, 0, 1)
  local stuck = one
  for _ = 2, 24 do stuck = stuck:concat(one, 2) end
  t.ok(drift(stuck, reference.attention).codes:find "same_output_every_call")
  local again = reference.attention:slice(2, 0, 4):concat(reference.attention:slice(2, 0, 4), 2):concat(reference.attention:slice(2, 8, 16), 2)
  t.ok(drift(again, reference.attention).codes:find "call_repeated")
end

-- M145_yes: two calls that differ as the reference says.
function T.M145_yes_the_second_call_differs_as_it_should()
  local v = drift(run(decoder.loop).attention:slice(2, 0, 8), reference.attention:slice(2, 0, 8), { min_tokens = 8 })
  t.equal(v.verdict, "pass")
end

-- M144: fewer than 64 tokens decide nothing, and no default lets them.
function T.M144_no_too_few_tokens()
  local got = run(decoder.loop).attention
  t.ok(drift(got, reference.attention, { min_tokens = 64 }).codes:find "too_few_tokens")
  t.equal(drift(got, reference.attention, { min_tokens = 64 }).verdict, "inconclusive")
end

function T.M144_yes_64_tokens()
  local r = fx.seeded({ label = "test/64", shape = { 1, 2, 64, 8 }, dtype = "fp32" }):tensor()
  t.equal(t.judge("decode_drift", { snr_min_db = 40, chunk = 64 }, { candidate = r:to "fp16", reference = r }).verdict, "pass")
end

-- M148_no M214_no: a curve that falls is said to fall, with the way out; one token a call is warned of.
function T.M148_no_a_falling_curve()
  local r = fx.seeded({ label = "test/64", shape = { 1, 2, 64, 8 }, dtype = "fp32" }):tensor()
  local c
  for i = 0, 63 do
    local token = r:slice(2, i, 1):scale(1 + 10 ^ (-4 + i / 32))
    c = c and c:concat(token, 2) or token
  end
  local v = t.judge("decode_drift", { snr_min_db = 30 }, { candidate = c, reference = r })
  t.equal(v.verdict, "pass")
  t.ok(v.codes:find "drift_per_token" and v.codes:find "prefill_token_by_token")
  t.ok(math.abs(v.metrics.candidate.slope_db_per_50 + 31.25) < 0.5)
  t.equal(t.judge("decode_drift", { snr_min_db = 50 }, { candidate = c, reference = r }).verdict, "kill")
end

function T.drift_refuses_what_it_cannot_judge()
  local r = reference.attention
  t.ok(t.judge("decode_drift", { snr_min_db = 1, token_axis = 9 }, { candidate = r, reference = r }).codes:find "no_token_axis")
  t.ok(t.judge("decode_drift", { snr_min_db = 1 }, { candidate = r:slice(2, 0, 4), reference = r }).codes:find "shape_mismatch")
  t.equal(t.judge("decode_drift", { snr_min_db = 1 }, { candidate = r }).verdict, "not-measured")
  t.fails(function() t.judge("decode_drift", {}, { candidate = r, reference = r }) end, "snr_min_db")
  t.ok(drift(r:scale(math.huge), r).codes:find "nonfinite_output")
end

-- ---- masks

local function judge_mask(spec, p)
  local params = { t = 8, slots = 16 }
  for k, v in pairs(p or {}) do params[k] = v end
  return t.judge("kv_mask", params, { mask = spec.shape and spec or decoder.mask(spec) })
end

-- M32_yes M33_yes M21_yes M22_yes M147_yes: the rebuilt mask is the rule's, as booleans and as numbers to add.
function T.M33_yes_the_mask_of_its_place()
  for _, at in ipairs { 0, 1, 8, 12 } do
    local mask = decoder.mask { t = at, queries = 4, slots = 16 }
    t.equal(mask:sum(), 4 * at + 10)
    t.equal(judge_mask(mask, { t = at }).verdict, "pass")
    t.equal(judge_mask(mask:choose(0, -math.huge, "fp16"), { t = at }).verdict, "pass")
    t.equal(judge_mask(mask:choose(0, -40000, "fp16"), { t = at }).verdict, "pass")
  end
end

-- M32_no M33_no: every rule one off is told by name.
function T.M33_no_masks_that_are_one_off()
  for _, past in ipairs { "k >= t + j", "k > t" } do
    local v = judge_mask { t = 8, queries = 4, slots = 16, past = past }
    t.equal(v.verdict, "kill")
    t.ok(v.codes:find "mask_differs" and v.codes:find "known_rule")
    t.equal(judge_mask({ t = 8, queries = 4, slots = 16, past = past }, { past = past }).verdict, "pass")
  end
  for _, future in ipairs { "m >= j", "m > j + 1" } do
    t.ok(judge_mask({ t = 8, queries = 4, slots = 16, future = future }).codes:find "known_rule")
  end
  t.ok(judge_mask({ t = 12, queries = 4, slots = 16 }).codes:find "known_rule")     -- t = chunk_end
  t.equal(judge_mask({ t = 3, queries = 4, slots = 16 }).verdict, "kill")
end

-- M21_no M22_no: the other polarity is told apart, and so are numbers that are neither open nor closed.
function T.M21_no_the_other_polarity()
  local mask = decoder.mask { t = 8, queries = 4, slots = 16 }
  local v = judge_mask(mask:choose(0, 1, "bool"))
  t.equal(v.verdict, "kill")
  t.ok(v.codes:find "known_rule")
  t.ok(judge_mask(mask:to "fp16").codes:find "mask_value")           -- 0 and 1 added to the scores
  t.ok(judge_mask(mask:choose(-math.huge, 0, "fp16")).codes:find "known_rule")
end

-- M25: a NaN is no sentinel.
function T.M25_no_nan_in_a_mask()
  t.ok(judge_mask(decoder.mask({ t = 8, queries = 4, slots = 16 }):choose(0, 0 / 0, "fp16")).codes:find "nan_in_mask")
end

function T.M25_yes_finite_and_infinite_sentinels()
  for _, sentinel in ipairs { -10000, -40000, -math.huge } do
    t.equal(judge_mask(decoder.mask({ t = 8, queries = 4, slots = 16 }):choose(0, sentinel, "fp16")).verdict, "pass")
  end
end

function T.masks_of_other_shapes_are_refused()
  t.ok(judge_mask(decoder.mask { t = 8, queries = 4, slots = 15 }).codes:find "mask_shape")
  t.ok(judge_mask({ t = 8, queries = 4, slots = 16 }, { past = "k < t" }).codes:find "unknown_rule")
  t.fails(function() decoder.mask { t = 8, queries = 4, slots = 16, past = "k < t" } end, "known are 'k >= t'")
end

-- ---- the cache

local function cache(label) return fx.seeded({ label = label, shape = { 1, 2, 8, 16 } }):tensor() end
local before, new, raw = cache "test/cache", cache("test/new"):slice(3, 0, 4):copy(), cache("test/raw"):slice(3, 0, 4):copy()
local function written(at, what) return before:slice(3, 0, at):concat(what, 3):concat(before:slice(3, at + 4, 12 - at), 3) end
local function judge_cache(after, at, more)
  local ev = { before = before, after = after, new = new }
  for k, v in pairs(more or {}) do ev[k] = v end
  return t.judge("kv_cache", { t = at }, ev)
end

-- M143_yes M142_yes M186_yes M205_yes M219_yes
function T.M143_yes_the_slots_of_the_call()
  for _, at in ipairs { 1, 8, 11 } do t.equal(judge_cache(written(at, new), at, { raw = raw, other = raw }).verdict, "pass") end
end

-- M143_no M142_no M186_no M205_no M219_no
function T.M143_no_other_slots_or_other_contents()
  t.ok(judge_cache(written(8, new), 4).codes:find "written_elsewhere")
  t.ok(judge_cache(before, 4).codes:find "not_written")
  t.ok(judge_cache(written(8, raw), 8, { raw = raw }).codes:find "key_before_rotation")
  t.ok(judge_cache(written(8, raw), 8, { other = raw }).codes:find "key_value_swapped")
  t.ok(judge_cache(written(8, new), 13).codes:find "cache_full")
  t.ok(judge_cache(before:slice(3, 0, 15), 4).codes:find "shape_mismatch")
  local spilt = before:slice(3, 0, 4):concat(new, 3):concat(new, 3):concat(before:slice(3, 12, 4), 3)
  t.ok(judge_cache(spilt, 4).codes:find "written_outside")
end

-- ---- the one-call program

-- M140_yes M141_yes M136_yes: no writes, the key after its rotation joined on the last axis, tables as inputs of rank 4.
function T.M141_yes_the_step_program()
  local m = build(decoder.step)
  for _, op in ipairs(m:find()) do t.ok(not op.type:find "update" and not op.type:find "state" and not op.type:find "gather") end
  local join
  for _, op in ipairs(m:find "concat") do
    if op.out.shape[4] == 32 then join = join or op end
  end
  t.equal(join:const("axis"):at(), -1)
  t.equal(#m:value("rope_cos").shape, 4)
  t.equal(#m:outputs(), 3)
end

-- The one-call program on the loop's own cache and tables gives the loop's rows.
function T.step_equals_the_loop()
  local like = assay.full({ shape = { 1, 1, 4, 8 } }):tensor()
  local whole = run(decoder.loop)
  local function kept(list) return list:slice(3, 0, 8):concat(assay.full({ shape = { 1, 2, 8, 20 } }):tensor(), 3) end
  local got = t.run(build(decoder.step), {
    x = x:slice(1, 8, 4):copy(), k_cache = kept(whole.keys), v_cache = kept(whole.values),
    rope_cos = like:rope { theta = 10000, first = 8 }, rope_sin = like:rope { theta = 10000, first = 8, part = "sin" },
    mask = decoder.mask({ t = 8, queries = 4, slots = 28 }):choose(0, -math.huge, "fp16") })
  t.ok(got.attention:equals(whole.attention:slice(2, 8, 4)))
  t.ok(got.new_k:equals(whole.keys:slice(3, 8, 4)))
  t.ok(got.new_v:equals(whole.values:slice(3, 8, 4)))
end

-- A host: one program, called again and again; cache, tables and mask are its own. with: the choices of the decoder.
local function hosted(with, chunk)
  local program, empty, attention = build(decoder.step, with, { chunk = chunk }), assay.full({ shape = { 1, 2, 8, 28 }, dtype = "fp16" }):tensor(), nil
  local like = assay.full({ shape = { 1, 1, chunk, 8 }, dtype = "fp16" }):tensor()
  local function rope(part, at)
    return like:rope { part = part, theta = with.theta or 10000, first = with.positions == "per_call" and 0 or at, pairing = with.pairing, angles = with.tables }
  end
  local function write(into, at, what)
    local rest = what:concat(into:slice(3, at + chunk, 28 - at - chunk), 3)
    return at == 0 and rest or into:slice(3, 0, at):concat(rest, 3)
  end
  local k_cache, v_cache = empty, empty
  for at = 0, 23, chunk do
    local mask = decoder.mask { t = with.offset == "chunk_end" and at + chunk or at, queries = chunk, slots = 28, past = with.past, future = with.future }
    local got = t.run(program, { x = x:slice(1, at, chunk):copy(), k_cache = k_cache, v_cache = v_cache, mask = mask:choose(0, -math.huge, "fp16"),
                                 rope_cos = rope("cos", at), rope_sin = rope("sin", at) })
    local key, value = got.new_k, got.new_v
    if with.slot == "value_key" then key, value = value, key end
    if with.state ~= "lost" then k_cache, v_cache = write(k_cache, at, key), write(v_cache, at, value) end
    attention = attention and attention:concat(got.attention, 2) or got.attention
  end
  return attention
end

-- What makes the unrolled loop stand for a host: calls of one program on a cache fed from outside give the same bits, right and wrong.
function T.M141_yes_a_host_of_one_program_equals_the_unrolled_loop()
  for _, chunk in ipairs { 1, 4 } do
    t.ok(hosted({}, chunk):equals(run(decoder.loop, nil, { chunk = chunk }).attention))
    t.equal(drift(hosted({}, chunk), reference.attention, { chunk = chunk }).verdict, "pass")
  end
end

-- M32_no M33_no M132_no M138_no M139_no M142_no M145_no M147_no: and with each fault in its own half, host or program.
function T.a_host_with_each_fault_equals_the_unrolled_one()
  for _, fault in ipairs(decoder.faults(4)) do
    local got = hosted(fault[2], 4)
    if not got:equals(run(decoder.loop, fault[2]).attention) then error(fault[1] .. ": the host gives other bits", 0) end
    t.equal(drift(got, reference.attention).verdict, "kill")
  end
end

-- M187: with no bias both outputs are zero for a zero input, so the guide's way of telling K from V sees nothing.
function T.M187_no_zero_input_tells_keys_from_values_only_by_a_bias()
  local zeros = assay.full({ shape = shapes.x }):tensor()
  local got = t.run(build(decoder.whole), { x = zeros })
  t.equal(got.keys:max_abs(), 0)
  t.equal(got.values:max_abs(), 0)
end

function T.choices_are_closed()
  t.fails(function() build(decoder.loop, { past = "k < t" }) end, "with.past = 'k < t'")
  t.fails(function() build(decoder.loop, { pasts = "k >= t" }) end, "with.pasts")
  t.fails(function() build(decoder.loop, nil, { slots = 20 }) end, "24 tokens do not fit 20 slots")
  t.fails(function() build(decoder.loop, nil, { kv_heads = 3 }) end, "do not divide")
end

-- ---- rope

local function table_of(spec, dtype)
  return assay.full({ shape = { 1, 1, 64, 32 }, dtype = dtype or "fp16" }):tensor():rope(spec)
end
local function judge_table(tab, p)
  local params = { theta = 10000 }
  for k, v in pairs(p or {}) do params[k] = v end
  return t.judge("rope_table", params, { table = tab })
end

-- Hand-worked: position 1, pair 0 turns by one radian; pair d/4 by theta^-1/2.
function T.a_table_by_hand()
  local c, s = table_of({ theta = 10000 }, "fp64"), table_of({ theta = 10000, part = "sin" }, "fp64")
  t.equal(c:at(0, 0, 0, 5), 1)
  t.ok(math.abs(c:at(0, 0, 1, 0) - 0.5403023058681398) < 1e-15)
  t.ok(math.abs(s:at(0, 0, 1, 8) - math.sin(0.01)) < 1e-15)
  t.ok(c:slice(3, 0, 16):equals(c:slice(3, 16, 16)))
  local i = table_of({ theta = 10000, pairing = "interleaved" }, "fp64")
  t.equal(i:at(0, 0, 3, 4), i:at(0, 0, 3, 5))
  t.equal(i:at(0, 0, 3, 4), c:at(0, 0, 3, 2))
  t.fails(function() table_of { theta = 1 } end, "theta")
  t.fails(function() table_of { theta = 10, pairing = "quarter" } end, "known are 'half', 'interleaved'")
  t.fails(function() assay.full({ shape = { 4, 3 } }):tensor():rope { theta = 10 } end, "even")
end

-- M138: theta is estimated and compared with the configuration's.
function T.M138_no_another_theta()
  local v = judge_table(table_of { theta = 10000 }, { theta = 500000 })
  t.ok(v.codes:find "theta_differs")
  t.ok(math.abs(v.metrics.table.theta_estimated / 10000 - 1) < 0.05)
  t.ok(judge_table(table_of { theta = 123456 }, { theta = 10000 }).codes:find "theta_differs")
end

function T.M138_yes_the_declared_theta()
  for _, theta in ipairs { 10000, 500000, 123456 } do
    t.equal(judge_table(table_of { theta = theta }, { theta = theta }).verdict, "pass")
    t.equal(judge_table(table_of { theta = theta, part = "sin" }, { theta = theta, part = "sin" }).verdict, "pass")
  end
end

-- M137: a table in a wider type must have been made in it.
function T.M137_no_a_table_that_was_cast()
  t.ok(judge_table(table_of({ theta = 10000 }):to "fp32").codes:find "table_was_cast")
  local v = judge_table(table_of({ theta = 10000, angles = "fp16" }, "fp32"))
  t.ok(v.codes:find "angles_differ")
end

function T.M137_yes_a_table_made_in_its_type()
  t.equal(judge_table(table_of({ theta = 10000, angles = "fp32" }, "fp32")).verdict, "pass")
  t.equal(judge_table(table_of({ theta = 10000, angles = "fp16" }), { angles = "fp16" }).verdict, "pass")
end

-- M139: which channels are paired, told from the table.
function T.M139_no_the_other_pairing()
  t.ok(judge_table(table_of { theta = 10000, pairing = "interleaved" }).codes:find "pairing_differs")
  t.ok(judge_table(table_of { theta = 10000, part = "sin" }).codes:find "part_differs")
  t.ok(judge_table(table_of { theta = 10000, first = 1 }).codes:find "position_off_by_one")
end

function T.M139_yes_the_declared_pairing()
  t.equal(judge_table(table_of { theta = 10000, pairing = "interleaved" }, { pairing = "interleaved" }).verdict, "pass")
  local mine = run(decoder.whole, { pairing = "interleaved" })
  t.ok(mine.attention:agreement(reference.attention).snr_db < 20)
  t.ok(mine.attention:agreement(t.run(build(decoder.whole, { pairing = "interleaved" }), { x = x }, "fp64").attention).snr_db > 40)
end

return T
