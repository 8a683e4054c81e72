-- The program against the configuration it was written for, and what may be an input. Both are heuristics: see `exempt`.
local flow = require "rules.flow"

local BOTH = { "neural-engine", "gpu" }

-- Parameters of an op that a trained model has constant.
local weights = { conv = { "weight", "bias" }, conv_transpose = { "weight", "bias" }, linear = { "weight", "bias" }, layer_norm = { "gamma", "beta" },
  instance_norm = { "gamma", "beta" }, batch_norm = { "gamma", "beta", "mean", "variance" } }
local weighted = { "conv", "conv_transpose", "linear", "layer_norm", "instance_norm", "batch_norm" }

local function head_size(c)
  if c.head_dim then return c.head_dim end
  if c.hidden_size and (c.num_attention_heads or 0) > 0 then return c.hidden_size // c.num_attention_heads end
end

-- Says where one size of an attention is not the configuration's; sizes that either does not know are passed over.
local function compare(say, what, got, ...)
  local wanted = {}
  for i = 1, select("#", ...) do wanted[#wanted + 1] = (select(i, ...)) end
  if not got or got < 1 or #wanted == 0 then return end
  for _, n in ipairs(wanted) do
    if got == n then return end
  end
  say(("%s is %d, the configuration says %s"):format(what, got, table.concat(wanted, " or ")))
end

-- [.., heads, tokens, channels], as the fused op takes it.
local function heads_of(v) return v and v.rank == 4 and v.shape[2] or nil end

return {
  { id = "dims_from_config", rows = { "M174" }, severity = "warning", profiles = BOTH, sources = { "guide 6.3" },
    summary = "head sizes and head counts are those of the configuration file",
    way_out = "take the numbers from config.json when the model is built, never from the source text",
    exempt = { "programs without a configuration (`--config FILE`)", "attentions that are not one fused op: their axes carry no names",
      "a fused op for one head of a loop over heads" },
    each = "site",
    check = function(site, say, cx)
      local c = cx.config
      if not c or not site.fused or not site.query then return end
      compare(say, "the head size", site.query.shape[site.query.rank], head_size(c))
      if heads_of(site.query) == 1 then return end
      compare(say, "the number of query heads", heads_of(site.query), c.num_attention_heads)
      compare(say, "the number of key heads", heads_of(site.key), c.num_key_value_heads, c.num_attention_heads)
    end },

  { id = "inputs_are_data", rows = { "M188" }, severity = "warning", profiles = BOTH, sources = { "guide 7.3" },
    summary = "inputs are what the caller has: data and buffers",
    way_out = "keep of the exported signature the user inputs and the buffers; a parameter belongs into the weights",
    exempt = { "an adapter whose weights are an input on purpose: give a waiver with the reason" },
    each = "fn",
    check = function(fn, say)
      local by_type = flow.by_type(fn)
      for _, type in ipairs(weighted) do
        for _, op in ipairs(by_type[type] or {}) do
          for _, key in ipairs(weights[type]) do
            local v = op.args[key] and flow.source(op.args[key])
            if v and v.input then say(("the %s of %s is an input: a parameter that was lifted out of the model"):format(key, op.name), v) end
          end
        end
      end
    end },
}
