-- Perturbations of fixtures. A gate asks for one as data; assay makes, stores and hashes the changed fixture.
local perturb = {}

-- One token plus seeded normal numbers: perturb.token { batch = 1, position = 500 } (counted from 0).
function perturb.token(spec)
  return { token = { batch = spec.batch or 0, position = spec.position or error("token: position is needed", 2) } }
end

-- A perturbation that the fixture defines itself: fixture { perturb = { louder = perturb.scaled(2) } }, asked for as
-- perturb.named "louder".
function perturb.named(name) return { named = name } end

-- Functions for fixture { perturb = { NAME = ... } }: they take and return the table of inputs.

-- Every float input times a factor.
function perturb.scaled(factor)
  return function(inputs)
    local out = {}
    for name, t in pairs(inputs) do out[name] = t.dtype:find "^fp" and t:scale(factor) or t end
    return out
  end
end

-- The first two batch rows change places.
function perturb.batch_swapped()
  return function(inputs)
    local out = {}
    for name, t in pairs(inputs) do out[name] = t:slice(0, 1, 1):concat(t:slice(0, 0, 1), 0) end
    return out
  end
end

-- One token is replaced by zeros.
function perturb.token_zeroed(position)
  return function(inputs)
    local out = {}
    for name, t in pairs(inputs) do
      local n = t.shape[2]
      local dead = t:slice(1, position, 1):scale(0)
      if position > 0 then dead = t:slice(1, 0, position):concat(dead, 1) end
      if position < n - 1 then dead = dead:concat(t:slice(1, position + 1, n - position - 1), 1) end
      out[name] = dead
    end
    return out
  end
end

return perturb
