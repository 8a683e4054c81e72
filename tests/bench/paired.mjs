// tests/bench/paired.mjs ROUNDS BENCH MODULES DNNL DATA THREADS...: our kernels, ONNX Runtime and oneDNN in turns in one run.
// MODULES and DNNL may be "-" (left out). Every timed run follows an untimed one of the same contender; the order turns round
// each round; ratios are medians over rounds of the ratio of neighbours in time.
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";

const [rounds, bench, modules, dnnl, data, ...threadCounts] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const canPin = process.platform === "linux" && spawnSync("taskset", ["-V"]).status === 0;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const quantile = (x, f) => { const s = [...x].sort((a, b) => a - b), i = f * (s.length - 1), j = Math.floor(i); return s[j] + (i - j) * ((s[j + 1] ?? s[j]) - s[j]); };

// A contender: a process that says "ready NAME ..." and then answers each line with a number.
class Contender {
  constructor(label, argv, threads) {
    const pinned = canPin ? ["taskset", "-c", threads === 1 ? "0" : `0-${threads - 1}`, ...argv] : argv;
    this.label = label;
    this.child = spawn(pinned[0], pinned.slice(1), { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, OMP_NUM_THREADS: String(threads) } });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  async read() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`${this.label} ended early`);
    return value;
  }
  async start() {
    this.parts = (await this.read()).split(" ").slice(1);
    return this;
  }
  async ask(line) {
    this.child.stdin.write(line + "\n");
    return Number(await this.read());
  }
  // A peer that computes something else is no peer.
  async check() {
    for (const part of this.parts.filter((p) => p !== "linears")) {
      const worst = await this.ask("check " + part);
      if (!(worst < 1e-4)) throw new Error(`${this.label} ${part} differs from the float64 reference by ${worst}`);
    }
  }
}

const groups = [
  ["attention, fused", "attention_fused", ["attention_mha", "attention_onnx"]],
  ["attention, explicit", "attention_explicit", ["attention_explicit"]],
  ["three linears", "linears", ["linears"]],
  ["whole, fused", "whole_fused", ["whole_attention", "whole_mha"]],
  ["whole, explicit", "whole_explicit", ["whole_explicit"]],
  ["program, fused", "program_fused", ["whole_attention", "whole_mha"]],
  ["program, explicit", "program_explicit", ["whole_explicit"]],
  ["MiniLM, S = 128", "minilm", ["minilm"]],
];

async function measure(threads) {
  const ours = [await new Contender("assay", [bench, String(threads), "serve"], threads).start(),
    await new Contender("assay", [join(dirname(bench), "bench_minilm"), data, String(threads)], threads).start()], peers = [];
  if (modules !== "-") peers.push(await new Contender("onnxruntime", [process.execPath, join(here, "peer_ort.mjs"), modules, data, String(threads)], threads).start());
  if (dnnl !== "-") peers.push(await new Contender("oneDNN", [dnnl, data], threads).start());
  for (const p of peers) await p.check();
  console.log(`\n${threads} thread(s), ${rounds} rounds in turns; ratio = ours / theirs, median of rounds (quartiles); below 1: ours is faster`);
  console.log("part                 ours ms   peer                                   ms   ratio");
  for (const [title, mine, theirs] of groups) {
    const own = ours.find((c) => c.parts.includes(mine));
    if (!own) continue;                                     // programs need a planned run
    const runs = [{ who: own, part: mine, ms: [] }];
    for (const who of peers) for (const part of theirs) if (who.parts.includes(part)) runs.push({ who, part, ms: [] });
    for (let r = 0; r < rounds; r++) {
      for (const run of r % 2 ? [...runs].reverse() : runs) {
        await run.who.ask(run.part);
        run.ms.push(await run.who.ask(run.part));
        await sleep(15);                                    // a peer's threads spin for a while after a run
      }
    }
    for (const run of runs.slice(1)) {
      const ratio = runs[0].ms.map((t, r) => t / run.ms[r]);
      console.log(`${title.padEnd(20)} ${quantile(runs[0].ms, 0.5).toFixed(1).padStart(7)}   ${(run.who.label + " " + run.part).padEnd(32)} ${quantile(run.ms, 0.5).toFixed(1).padStart(8)}   `
        + `${quantile(ratio, 0.5).toFixed(3)} (${quantile(ratio, 0.25).toFixed(3)} to ${quantile(ratio, 0.75).toFixed(3)})`);
    }
  }
  for (const c of [...ours, ...peers]) c.child.stdin.end();
}

for (const threads of threadCounts) await measure(Number(threads));
