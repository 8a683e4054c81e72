-- Names and sets of functions, and the sizes that an export declares.
local flow = require "rules.flow"
local classifier = require "rules.classifier"

local NE, BOTH = { "neural-engine" }, { "neural-engine", "gpu" }

local function near_text(near)
  local list = {}
  for name, known in pairs(near) do list[#list + 1] = ("'%s' may be meant as '%s'"):format(name, known) end
  return #list > 0 and "; " .. table.concat(list, ", ") or ""
end

-- Functions by family (extend, prompt_opt ...), with context and length where the name has them.
local function family(graph, stem)
  local list = {}
  for _, fn in ipairs(graph.functions) do
    if fn.name == stem or fn.name:find("^" .. stem .. "_%d") then
      local context, length = fn.name:match("^" .. stem .. "_(%d+)_(%d+)$")
      list[#list + 1] = { fn = fn, context = tonumber(context), length = tonumber(length) }
    end
  end
  return list
end

local signatures = { load_embeddings = { 0, 1, "() -> table" }, gather_embeddings = { 2, 1, "(tokens, table) -> embeddings" } }
local entries = { "load_embeddings", "gather_embeddings", "extend", "prompt_opt" }

return {
  { id = "entrypoint_names", rows = { "M190", "M191", "M192", "M193", "M194", "M208", "M233" }, severity = "error", profiles = BOTH,
    sources = { "guide 8", "guide 10 row 7" },
    summary = "the names of the functions choose the unit that was meant",
    way_out = "name the functions as the loader's constants say, or load the asset with options of your own",
    exempt = { "loaders other than PreparedModel, which choose for themselves" },
    applies = function(p) return p.loader == "prepared_model" end,
    each = "program",
    check = function(graph, say, cx)
      local c = classifier.read(classifier.names_of(graph))
      if c.unit == cx.facts.profile then return end
      say(("read as %s, which asks for %s%s%s"):format(c.structure, c.unit, c.warned and ", with one line in a log" or ", without a word", near_text(c.near)))
    end },

  { id = "segmenter_inputs", rows = { "M201" }, severity = "warning", profiles = NE, sources = { "guide 9.5" },
    summary = "a segmenter in three functions takes text only",
    way_out = "drop the input; a main function of its own supports points",
    each = "program",
    check = function(graph, say)
      if classifier.read(classifier.names_of(graph)).structure ~= "multiFunctionSegmenter" then return end
      for _, fn in ipairs(graph.functions) do
        for _, v in ipairs(fn.inputs) do
          local name = v.name:lower()
          if name:find "point" or name:find "box" or name:find "coord" then say(("input '%s' of %s"):format(v.name, fn.name), fn) end
        end
      end
    end },

  { id = "entrypoint_set", rows = { "M151" }, severity = "error", profiles = NE, sources = { "guide 4.15" },
    summary = "a language model has load_embeddings, gather_embeddings, extend and prompt_opt, with their signatures",
    way_out = "export what is missing; sizes go behind the name",
    exempt = { "programs without a function called extend, or load_embeddings" },
    each = "program",
    check = function(graph, say)
      if #family(graph, "extend") == 0 and #family(graph, "load_embeddings") == 0 then return end
      for _, stem in ipairs(entries) do
        local list, want = family(graph, stem), signatures[stem]
        if #list == 0 then say(("no %s%s"):format(stem, near_text(classifier.read(classifier.names_of(graph)).near))) end
        for _, entry in ipairs(want and list or {}) do
          if #entry.fn.inputs ~= want[1] or #entry.fn.outputs ~= want[2] then
            say(("%d inputs and %d outputs, wanted is %s"):format(#entry.fn.inputs, #entry.fn.outputs, want[3]), entry.fn)
          end
        end
      end
    end },

  { id = "entrypoint_grid", rows = { "M152" }, severity = "error", profiles = NE, sources = { "guide 4.15" },
    summary = "extend and prompt_opt exist for every declared context and length",
    way_out = "specialise the missing ones, or declare fewer",
    applies = function(p) return #p.contexts > 0 and #p.lengths > 0 end,
    each = "program",
    check = function(graph, say, cx)
      for _, stem in ipairs { "extend", "prompt_opt" } do
        local has, missing = {}, {}
        for _, entry in ipairs(family(graph, stem)) do has[("%s_%s"):format(entry.context, entry.length)] = true end
        for _, context in ipairs(cx.facts.contexts) do
          for _, length in ipairs(cx.facts.lengths) do
            local cell = ("%d_%d"):format(context, length)
            if not has[cell] then missing[#missing + 1] = stem .. "_" .. cell end
          end
        end
        if #missing > 0 then say(("missing: %s"):format(table.concat(missing, ", "))) end
      end
    end },

  { id = "chunk_length", rows = { "M149" }, severity = "warning", profiles = NE, sources = { "guide 4.14" },
    summary = "a prefill chunk is a power of two and at least 32",
    way_out = "export 32, 64 or more; the mask's last axis is as long",
    exempt = { "extend, whose short lengths are for decoding" },
    each = "program",
    check = function(graph, say)
      for _, entry in ipairs(family(graph, "prompt_opt")) do
        local n = entry.length
        if n and (n < 32 or not flow.is_power_of_two(n)) then say(("chunks of %d"):format(n), entry.fn) end
      end
    end },

  { id = "geometry", rows = { "M199" }, severity = "error", profiles = BOTH, sources = { "guide 9.4" },
    summary = "image, patch, window and chunk fit each other",
    way_out = "choose the image size so that the grid is a multiple of the window, and the chunk the square of the grid or a divisor",
    applies = function(p) return p.image > 0 and p.patch > 0 end,
    each = "program",
    check = function(_, say, cx)
      local f = cx.facts
      local grid = f.image // f.patch
      if f.image % f.patch ~= 0 then say(("image %d is no multiple of patch %d"):format(f.image, f.patch)) end
      if f.window > 0 and grid % f.window ~= 0 then say(("a grid of %d is no multiple of window %d"):format(grid, f.window)) end
      if f.chunk > 0 and grid * grid % f.chunk ~= 0 then say(("%d tokens are no multiple of chunk %d"):format(grid * grid, f.chunk)) end
    end },
}
