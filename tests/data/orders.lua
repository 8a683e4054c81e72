-- Attribution: a candidate whose arithmetic is known, for the tests of the gate.
local attn, fx, orders = require "assay.attention", require "assay.fixtures", require "assay.orders"
local opt = options {
  order = { "string", default = "nothing_stored", help = "order that the candidate follows; 'fused': the fused op; 'wrong': no order" },
  head_dim = { "integer", default = 15, help = "a head size that is no power of four tells the orders apart" },
}
local candidate
if opt.order == "fused" then candidate = arm { name = "cand", role = "candidate", build = attn.fused }
elseif opt.order == "wrong" then candidate = arm { name = "cand", role = "candidate", like = "explicit", mutate = function(m) m:replace(m:value "q", m:mul { x = m:value "k", y = 1 }) end }
else candidate = arm { name = "cand", role = "candidate", like = "explicit", rewrite = orders.rewrite(opt.order) } end
local width = 4 * opt.head_dim
return experiment {
  name = "orders", precision = "fp16", shapes = { x = { 1, 24, width }, heads = 4, head_dim = opt.head_dim },
  weights { recipe = fx.projections { label = "orders", width = width, gain = 2.5 } },
  reference { arm = "explicit", precision = "fp64", cut = "qkv" },
  fixture { name = "normal", inputs = { x = fx.seeded { label = "orders/x", shape = { 1, 24, width } } } },
  arm { name = "explicit", role = "control", build = attn.explicit },
  candidate,
  orders.arms "explicit",
  gate { use = "attribution" },
}
