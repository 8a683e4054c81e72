# Writes x.lua, a small experiment whose gate `memory` asks for a record of each arm; $1: its words `record`; $2: the control's peak.
set -- "$1" "${2:-1000}"
cat >x.lua <<END
local attn, fx = require "assay.attention", require "assay.fixtures"
return experiment {
  name = "x", target = { framework = "coreml", unit = "NE" }, shapes = { x = { 2, 30, 256 }, heads = 4, head_dim = 64 },
  weights { recipe = fx.wset(256, 1) }, fixture { name = "normal", inputs = { x = fx.normal "mini" } },
  arm { name = "explicit", role = "control", build = attn.explicit }, arm { name = "sliced", role = "candidate", build = attn.sliced_q },
  $1
  gate { use = "memory", arm = "sliced", max_ratio = 0.75, budget_bytes = 900 }, gate { use = "dead_path" },
}
END
echo "{\"schema\":\"memory-record/1\",\"method\":\"footprint\",\"peak_bytes\":700}" >a.json
echo "{\"schema\":\"memory-record/1\",\"method\":\"footprint\",\"peak_bytes\":${2:-1000}}" >b.json
