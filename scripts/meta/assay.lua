---@meta
-- Editor types of the words, printed by `assay schema --meta`; a test fails when file and program differ.
error("scripts/meta/assay.lua is for editors; scripts get the words without it")

---What the experiment's claims are about.
---@class (exact) assay.Experiment.target
---@field framework? string framework the claims are about; "reference": assay's own reference backend
---@field unit? "NE"|"GPU"|"CPU" unit the claims are about
---@field hosts? string|string[] hosts that count as the target; none named: any with that framework

---One experiment; holds all other words and is what the script returns.
---@class assay.Experiment
---@field name string name of the experiment; names its run folders
---@field target? assay.Experiment.target framework and unit that the claims are about
---@field opset? "iOS15"|"iOS16"|"iOS17"|"iOS18"|"iOS26" opset of built programs
---@field precision? "fp16"|"fp32" types of built programs
---@field compute_units? "cpu_only"|"cpu_and_gpu"|"cpu_and_ne"|"all" policy of arms that name none
---@field shapes? table shapes of the inputs, and whatever numbers the arms need: ctx.shapes
---@field seeds? table<string, integer> script seeds math.random; the others are kept in the plan, not read (orders: the gate latency's seed)
---@field stop? "kill"|"never" never: collect everything, also after a kill
---@field mutants? string|string[] mutants that matter here, for `assay mutate` (default: all that fit the control)
---@field mutation_score? number share of the mutants that the gates must kill, from 0 to 1
---@field equivalent_mutants? table table MUTANT = why it computes what the control does: run and named, never counted
---@param t assay.Experiment
function experiment(t) end

---A sentence with its own fate and evidence level.
---@class assay.Claim
---@field id string short name; `kill` refers to it
---@field text string the sentence that is confirmed or refuted
---@field needs string|string[] gates that must pass for it
---@field about? "program"|"output"|"plan"|"timing"|"record" kind of evidence it is about: what no needed gate saw confirms nothing
---@param t assay.Claim
function claim(t) end

---What is believed before; printed beside the outcome.
---@class assay.Prior
---@field text string what is believed before
---@field status "documented"|"verified"|"firsthand"|"none"|"refuted"|"unknown" how well it is known
---@field backend? string backend it was seen on
---@field scale? string size of the thing it was seen on
---@field source? string where it stands
---@param t assay.Prior
function prior(t) end

---Weights that build functions find in ctx.weights.
---@class assay.Weights
---@field file? string .safetensors, .npy, or a package (q, k, v found by data flow)
---@field recipe? table<string, any> table NAME = recipe, such as fx.wset(1280, 2.5)
---@field names? table names in the file: { q = ..., k = ..., v = ..., bq = ..., bv = ... }
---@field split? "qkv" one matrix [3N, in] (and one bias [3N]) holds q, k and v
---@field provenance? "synthetic"|"trained"|"recorded" random weights cap the claim at probe
---@param t assay.Weights
function weights(t) end

---Named input tensors.
---@class assay.Fixture
---@field name string name of the fixture
---@field inputs table<string, any> table INPUT = file or recipe
---@field provenance? "synthetic"|"standin"|"trained"|"recorded" where the numbers come from
---@field use? string|string[] questions it has power for
---@field perturb? table table NAME = function(tensors) that changes the inputs; asked for as {"named": NAME}
---@param t assay.Fixture
function fixture(t) end

---What both arms are compared with; default: the control in float64.
---@class assay.Reference
---@field arm? string arm whose program is run (default: the control)
---@field program? function build function of a program written for the intent
---@field file? string imported tensor (.npy)
---@field precision? "fp64"|"fp32"|"declared" precision it is run with
---@field cut? "program"|"qkv" what is exact: the whole program, or attention on the arm's own rounded q, k, v
---@field values? table names of the cut values, when they are not q, k, v
---@field with? table what the build function finds in ctx.with
---@field framework? string framework and version that made the file
---@param t assay.Reference
function reference(t) end

---One variant of the graph.
---@class assay.Arm
---@field name string name of the arm; names its folder
---@field role "control"|"candidate"|"negative"|"must_fail"|"mutant" what the arm is for
---@field build? function function(ctx) that returns the outputs; ctx.mil builds
---@field package? string path of a .mlpackage, .mlmodel, .mlmodelc or .mil
---@field convert? string|string[] command that leaves a package; it runs as a trial
---@field like? string another arm, changed by rewrite, mutate or policy
---@field with? table what the build function finds in ctx.with
---@field rewrite? function function(mil) that changes the program, meant
---@field mutate? function function(mil) that plants a fault
---@field compute_units? "cpu_only"|"cpu_and_gpu"|"cpu_and_ne"|"all" policy (default: the experiment's)
---@field precision? "fp16"|"fp32" types of the built program (default: the experiment's)
---@field backend? "reference" "reference": it runs there whatever runs the others: a model of arithmetic, no program for the device
---@field sources? string|string[] files digested into the identity of a converted arm
---@field change? string|string[] declared differences from the control
---@param t assay.Arm
function arm(t) end

---A question with an answer rule; further fields are the gate's own parameters.
---@class assay.Gate
---@field use string name of the gate (assay gates lists them), or of a Lua gate
---@field arm? string arm that is judged (default: the candidate)
---@field control? string arm it is compared with (default: the control)
---@field after_kill? boolean judge it after a kill as well: it explains
---@param t assay.Gate
function gate(t) end

---A figure that refutes the experiment or one claim: data, never a function.
---@class assay.Kill
---@field gate string gate whose metric is looked at
---@field metric string name of the metric
---@field at_most? number kills when the metric is at most this
---@field at_least? number kills when the metric is at least this
---@field equals? number|string|boolean kills when the metric equals this
---@field arm? string only where the gate judges this arm
---@field fixture? string only the figures of this fixture
---@field why string what it means; printed beside the kill
---@field claim? string kills this claim only
---@param t assay.Kill
function kill(t) end

---Arms side by side in one table: figures against the reference, against the first of them, and where their ops are placed.
---@class assay.Compare
---@field fixture? string fixture on which all of them run (default: the first)
---@field expect? "equal"|"different"|"any" of their outputs, bit for bit: all equal, no two equal, or nothing (the table alone)
---@param t assay.Compare
function compare(t) end

---The experiment once per point.
---@class assay.Sweep
---@field axes table table NAME = list of values; NAME is an option of the script, or opset, precision, compute_units
---@param t assay.Sweep
function sweep(t) end

---Starts only from the stated outcome of an earlier experiment.
---@class assay.Follows
---@field receipt string receipt.<host>.json of the earlier experiment, relative to the script
---@field needs? table table GATE = verdict that the last gate of that name must have had
---@param t assay.Follows
function follows(t) end

---A measurement taken outside of assay, for the gate that asks for it.
---@class assay.Record
---@field name string name by which a gate asks for it: memory, rails, intervals ...
---@field file string what another tool wrote: powermetrics text or plist, JSON; copied and hashed
---@field arm? string arm it was taken of (none: of the machine, or of the experiment as a whole)
---@param t assay.Record
function record(t) end

---A gate written in Lua: one file of its own that returns this.
---@class assay.Gate_type
---@field name string name that `use` refers to
---@field version string stands in receipts; change it when the rule changes
---@field summary string one line for `assay gates`
---@field params? table table NAME = { type, default = ..., help = ... }; type: number, integer, boolean, string, arm, fixture, op
---@field needs? function function(p, ev, req): asks for evidence, computes nothing
---@field judge function function(p, ev, finding): pure; ends with finding:pass(), :kill(), :inconclusive() or :invalid()
---@param t assay.Gate_type
function gate_type(t) end
