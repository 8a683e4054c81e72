// tests/bench/paired.mjs BENCH MODULES DATA ROUNDS THREADS...: our kernels and ONNX Runtime in turns in one run. Every timed run
// follows an untimed one of the same contender; the order turns round each round; ratios are medians of the rounds' ratios.
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";

const [bench, modules, data, rounds, ...threadCounts] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const canPin = process.platform === "linux" && spawnSync("taskset", ["-V"]).status === 0;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const median = (x) => { const s = [...x].sort((a, b) => a - b); return (s[(s.length - 1) >> 1] + s[s.length >> 1]) / 2; };

class Server {
  constructor(argv, threads) {
    const pinned = canPin ? ["taskset", "-c", threads === 1 ? "0" : `0-${threads - 1}`, ...argv] : argv;
    this.child = spawn(pinned[0], pinned.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  async read() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("a contender ended early");
    return value;
  }
  async ask(line) {
    this.child.stdin.write(line + "\n");
    return Number(await this.read());
  }
}

const groups = [
  ["attention, fused", "attention_fused", ["attention_mha", "attention_onnx"]],
  ["attention, explicit", "attention_explicit", ["attention_explicit"]],
  ["three linears", "linears", ["linears"]],
  ["whole, fused", "whole_fused", ["whole_attention", "whole_mha"]],
  ["whole, explicit", "whole_explicit", ["whole_explicit"]],
];

async function measure(threads) {
  const ours = new Server([bench, String(threads), "serve"], threads);
  const peer = new Server([process.execPath, join(here, "peer_ort.mjs"), modules, data, String(threads)], threads);
  await ours.read();
  const known = (await peer.read()).split(" ").slice(1);
  for (const name of known) {
    if (name === "linears") continue;
    const worst = await peer.ask("check " + name);
    if (!(worst < 1e-4)) throw new Error(`ONNX Runtime's ${name} differs from the reference by ${worst}: not the same computation`);
  }
  console.log(`\n${threads} thread(s), ${rounds} rounds, paired with onnxruntime-node; ratio = ours / theirs (below 1: ours is faster)`);
  console.log("part                 ours ms   peer                 ms   ratio  (quartiles)");
  for (const [title, mine, peers] of groups) {
    const contenders = [[ours, mine], ...peers.filter((p) => known.includes(p)).map((p) => [peer, p])];
    const times = contenders.map(() => []);
    for (let r = 0; r < rounds; r++) {
      const order = contenders.map((_, i) => i);
      if (r % 2) order.reverse();
      for (const i of order) {
        const [server, name] = contenders[i];
        await server.ask(name);
        times[i].push(await server.ask(name));
        await sleep(15);                                    // the peer's threads spin for a while after a run
      }
    }
    for (let i = 1; i < contenders.length; i++) {
      const ratios = times[0].map((t, r) => t / times[i][r]).sort((a, b) => a - b), at = (f) => ratios[Math.floor(f * (ratios.length - 1))];
      console.log(`${title.padEnd(20)} ${median(times[0]).toFixed(1).padStart(7)}   ${contenders[i][1].padEnd(18)} ${median(times[i]).toFixed(1).padStart(6)}   `
        + `${median(ratios).toFixed(3)}  (${at(0.25).toFixed(3)} to ${at(0.75).toFixed(3)})`);
    }
  }
  for (const s of [ours, peer]) s.child.stdin.end();
}

for (const threads of threadCounts) await measure(Number(threads));
