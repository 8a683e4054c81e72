-- How the sample loader PreparedModel reads the names of functions: which structure, which unit. Only its users are concerned.
local names = require "rules.names"

local classifier = {}

local trio = { "image_encode", "text_encode", "detect" }
classifier.known = { "load_embeddings", "gather_embeddings", "extend", "prompt_opt", "image_encode", "text_encode", "detect", "main" }

-- The part of a name that is a known one, sizes apart: extend_256_64 is extend.
local function stem(name) return (name:gsub("[_%d]+$", "")) end

function classifier.names_of(graph)
  local list = {}
  for i, fn in ipairs(graph.functions) do list[i] = fn.name end
  return list
end

-- { structure, unit, warned, near = { [name] = known name } } of a list of function names. The order of the tests matters: a
-- segmenter may ship a thin main beside its trio.
function classifier.read(list)
  local has, extend, near = {}, false, {}
  for _, name in ipairs(list) do
    has[name] = true
    extend = extend or name:find "^extend" ~= nil
    near[name] = names.near(stem(name), classifier.known)
  end
  local result = { structure = "dynamic", unit = "gpu", warned = false, near = near }
  if extend and has.load_embeddings then result.structure, result.unit = "chunkedStatic", "neural-engine"
  elseif has[trio[1]] and has[trio[2]] and has[trio[3]] then result.structure, result.unit = "multiFunctionSegmenter", "neural-engine"
  elseif not has.main then result.warned = true end
  return result
end

return classifier
