-- Rules on caches and on the names of functions (see rules_pair.lua).
local pair = require "rules_pair"
local T = {}

local CACHE = { 1, 1, 64, 1, 64 }
local function clean(m) return m:relu { m:input("x", { 1, 64, 1, 64 }) } end

-- ---- caches. A read-only step: the new key is rotated, keys and values are joined to their caches. o: axis, new_first, plain_key,
-- rotated_value, kept (the plain key is given back), shape (of the caches).
local function read_only(o)
  o = o or {}
  return function(m)
    local k, v, cos = m:input("k", { 1, 64, 1, 64 }), m:input("v", { 1, 64, 1, 64 }), m:input("cos", { 1, 64, 1, 64 })
    local rotated = m:mul { x = k, y = cos, name = "k_rotated" }
    local key = o.plain_key and k or rotated
    local value = o.rotated_value and m:mul { x = v, y = cos } or v
    local outs = {}
    for _, side in ipairs { { "k_cache", key }, { "v_cache", value } } do
      local cache = m:squeeze { x = m:input(side[1], CACHE), axes = { 0 } }
      local parts = o.new_first and { side[2], cache } or { cache, side[2] }
      outs[#outs + 1] = m:concat { values = parts, axis = o.axis or -1, interleave = false }
    end
    outs[#outs + 1] = m:identity { x = o.kept and k or key, name = "new_k" }
    outs[#outs + 1] = m:identity { x = value, name = "new_v" }
    return outs
  end
end

local function written(m)
  local cache, k = m:input("k_cache", CACHE), m:input("k", { 1, 1, 64, 1, 32 })
  return m:slice_update { x = cache, update = k, begin = { 0, 0, 0, 0, 0 }, ["end"] = { 1, 1, 64, 1, 32 } }
end

local function state(name, shape)
  return function(m)
    local s = t.state(m, name, shape or { 1, 64, 1, 64 })
    return m:relu { m:read_state { input = s } }
  end
end

pair.ne(T, "cache_shape", "M87_both", { wrong = function(m) return m:relu { m:input("k_cache", { 1, 1, 4, 64, 64 }) } end,
  right = function(m) return m:relu { m:input("k_cache", CACHE) } end })
pair.gpu(T, "cache_shape_gpu", "M87_both", { wrong = function(m) return m:relu { m:input("k_cache", CACHE) } end,
  right = function(m) return m:relu { m:input("k_cache", { 1, 1, 4, 64, 64 }) } end })
T.M87_no_a_cache_that_grows_along_its_channels = function()
  local found = pair.findings("neural-engine", function(m)
    local cache, k = m:input("k_cache", { 1, 1, 64, 1, 64 }), m:input("k", { 1, 1, 32, 1, 64 })
    return m:slice_update { x = cache, update = k, begin = { 0, 0, 0, 0, 0 }, ["end"] = { 1, 1, 32, 1, 64 } }
  end)
  t.equal(#found, 1)
  t.equal(found[1].message, "written along axis 2")
end

pair.ne(T, "stateful_decode", "M88_both M210_both", { wrong = state "keyCache", right = clean })
local HEADS = { 1, 4, 64, 64 }
pair.gpu(T, "stateful_decode", "M88_both M210_both", { wrong = state("keyCache", HEADS), right = function(m) return m:relu { m:input("x", { 1, 64, 64 }) } end })
T.M88_yes_declared_state_is_the_shipped_path = function() t.equal(#pair.findings("neural-engine", state "keyCache", { kv = "state" }), 0) end
pair.gpu(T, "state_names", "M166_both M241_both M242_both", { wrong = state("k_state", HEADS), right = state("keyCache", HEADS), facts = { kv = "state" } })

pair.ne(T, "cache_write", "M140_both", { wrong = written, right = read_only(), facts = { kv = "read_only" } })
pair.ne(T, "cache_concat", "M141_both", { wrong = read_only { new_first = true }, right = read_only() })
T.M141_no_joined_along_the_channels = function()
  local found = pair.findings("neural-engine", read_only { axis = 1 })
  t.equal(found[1].rule, "cache_concat")
  t.equal(found[1].message, "along axis 1 of 4")
end
pair.ne(T, "cache_rotation", "M142_both M205_both M230_both", { wrong = read_only { plain_key = true }, right = read_only(), says = { "cached before its rotation" } })
T.M142_no_the_plain_key_given_back_or_the_value_rotated = function()
  local found = pair.findings("neural-engine", read_only { kept = true })
  t.ok(found[1].message:find("k_rotated is used here, but no output gives it back", 1, true))
  t.equal(pair.findings("neural-engine", read_only { rotated_value = true })[1].message, "the value is rotated")
end

pair.ne(T, "cache_pattern", "M146_both", {
  wrong = function(m)
    local outs = read_only()(m)
    local k = m:input("late", { 1, 1, 64, 1, 32 })
    outs[#outs + 1] = m:slice_update { x = m:input("other_cache", CACHE), update = k, begin = { 0, 0, 0, 0, 0 }, ["end"] = { 1, 1, 64, 1, 32 } }
    return outs
  end,
  right = read_only(), says = { "mixed: write and read_only" } })
T.M146_no_another_pattern_than_the_declared_one = function()
  local found = pair.findings("neural-engine", read_only(), { kv = "state" })
  t.equal(found[1].message, "read_only, declared is state")
end

local function named(name, build)
  return function(m)
    t.outputs(m, clean(m))
    t.func(m, name)
    t.outputs(m, build(m))
  end
end
local function head(m) return pair.conv1x1(m, m:input("x", { 1, 64, 1, 64 }), 64, 128) end
pair.ne(T, "prefill_output", "M153_both", { wrong = named("prompt_opt_256_64", head), right = named("prompt_opt_256_64", function(m)
  return m:reduce_sum { x = m:input("x", { 1, 64, 1, 64 }), axes = { 0, 1, 2, 3 }, keep_dims = false } end) })

-- ---- functions. Each name gets the same small body; load_embeddings and gather_embeddings their signatures.
local bodies = {
  load_embeddings = function(m) return m:identity { x = m:const(pair.weight { 128, 1, 64 }) } end,
  gather_embeddings = function(m) return m:gather { x = m:input("embedding_table", { 128, 1, 1, 64 }), indices = m:input("tokens", { 64 }, "int32"), axis = 0 } end,
}
local function functions(list, extra)
  return function(m)
    for i, name in ipairs(list) do
      t.func(m, name)
      local body = extra and extra[name] or bodies[name] or clean
      t.outputs(m, body(m))
      if i == 1 then t.drop(m, "main") end
    end
  end
end
local trio = { "image_encode", "text_encode", "detect" }
local llm = { "load_embeddings", "gather_embeddings", "extend_256_8", "prompt_opt_256_64" }
local prepared = { loader = "prepared_model" }

pair.ne(T, "entrypoint_names", "M190_both M191_both M192_both M193_both M194_both M208_both M233_both", {
  wrong = functions { "encode_image", "encode_text", "predict" }, right = functions(trio), facts = prepared,
  says = { "read as dynamic, which asks for gpu, with one line in a log", "'encode_image' may be meant as 'image_encode'", "'encode_text' may be meant as 'text_encode'" },
})
T.M190_both_extend_needs_load_embeddings = function()
  t.equal(#pair.findings("neural-engine", functions(llm), prepared), 0)
  local found = pair.findings("neural-engine", functions { "gather_embeddings", "extend_256_8", "prompt_opt_256_64" }, prepared)
  t.equal(found[1].rule, "entrypoint_names")
end
T.M191_yes_the_trio_is_tested_before_main = function() t.equal(#pair.findings("neural-engine", functions { "main_2", table.unpack(trio) }, prepared), 0) end
T.M192_both_main_is_silent = function()
  local found = pair.findings("neural-engine", clean, prepared)
  t.ok(found[1].message:find("without a word", 1, true))
  t.equal(#pair.findings("gpu", function(m) return m:relu { m:input("x", { 1, 64, 64 }) } end, prepared), 0)
end
T.M193_no_a_language_model_under_the_gpu_profile = function()
  local found = pair.findings("gpu", functions { "load_embeddings", "extend_256_8" }, prepared)
  t.ok(found[1].message:find("read as chunkedStatic, which asks for neural-engine", 1, true))
end
T.M194_yes_other_loaders_choose_for_themselves = function() t.equal(#pair.findings("neural-engine", functions { "encode_image", "predict" }, { loader = "direct" }), 0) end

pair.ne(T, "segmenter_inputs", "M201_both", {
  wrong = functions(trio, { detect = function(m) return m:add { m:input("x", { 1, 64, 1, 64 }), m:input("point_coords", { 1, 64, 1, 64 }) } end }), right = functions(trio) })
pair.ne(T, "entrypoint_set", "M151_both", { wrong = functions { "load_embeddings", "gather_embeddings", "extend_256_8" }, right = functions(llm), says = { "no prompt_opt" } })
T.M151_no_a_signature_that_differs = function()
  local found = pair.findings("neural-engine", functions(llm, { load_embeddings = clean }))
  t.ok(found[1].message:find("1 inputs and 1 outputs, wanted is () -> table", 1, true))
end
pair.ne(T, "entrypoint_grid", "M152_both", { wrong = functions(llm), facts = { contexts = { 256 }, lengths = { 64 } },
  right = functions { "load_embeddings", "gather_embeddings", "extend_256_64", "prompt_opt_256_64" }, says = { "missing: extend_256_64" } })
pair.ne(T, "chunk_length", "M149_both", { wrong = functions { "load_embeddings", "gather_embeddings", "extend_256_8", "prompt_opt_256_48" }, right = functions(llm) })
T.M149_no_a_chunk_below_32 = function()
  local found = pair.findings("neural-engine", functions { "load_embeddings", "gather_embeddings", "extend_256_8", "prompt_opt_256_16" })
  t.equal(#found, 1)
  t.equal(found[1].message, "chunks of 16")
end

pair.ne(T, "geometry", "M199_both", { wrong = clean, right = clean, facts = { image = 340, patch = 14, window = 24, chunk = 576 },
  right_facts = { image = 336, patch = 14, window = 24, chunk = 576 }, says = { "image 340 is no multiple of patch 14" } })

return T
