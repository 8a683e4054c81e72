// tests/bench/peer_ort.mjs MODULES DATA THREADS: ONNX Runtime as a contender. Prints "ready NAME ...", then for each line NAME
// runs that graph once and prints milliseconds; "check NAME" prints the largest difference from the float64 reference.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { resolve } from "node:path";
import { node, tensor, model } from "./onnx.mjs";

const [modules, data, threads] = process.argv.slice(2);
const ort = createRequire(resolve(modules, "x.js"))("onnxruntime-node");
const B = 2, S = 750, D = 1280, H = 20, E = 64, BSD = [B, S, D], BHSE = [B, H, S, E], MS = { domain: "com.microsoft", num_heads: H };

function read(name) {
  const b = readFileSync(`${data}/${name}.f32`);
  return new Float32Array(b.buffer, b.byteOffset, b.length / 4);
}
// [B,H,S,E] -> [B,S,H*E]
function joinHeads(a) {
  const out = new Float32Array(a.length);
  for (let b = 0; b < B; b++) for (let h = 0; h < H; h++) for (let s = 0; s < S; s++)
    out.set(a.subarray(((b * H + h) * S + s) * E, ((b * H + h) * S + s + 1) * E), (b * S + s) * D + h * E);
  return out;
}
function transpose(w) {
  const out = new Float32Array(D * D);
  for (let i = 0; i < D; i++) for (let j = 0; j < D; j++) out[j * D + i] = w[i * D + j];
  return out;
}
// three [D,D] side by side
function beside(ws) {
  const out = new Float32Array(3 * D * D);
  ws.forEach((w, n) => { for (let i = 0; i < D; i++) out.set(w.subarray(i * D, (i + 1) * D), i * 3 * D + n * D); });
  return out;
}

const wt = ["wq", "wk", "wv"].map((n) => transpose(read(n))), bias = ["bq", "bk", "bv"].map(read), letters = ["q", "k", "v"];
const weights = letters.flatMap((n, i) => [tensor("W" + n, [D, D], wt[i]), tensor("B" + n, [D], bias[i])]);
const linears = letters.flatMap((n) => [node("MatMul", ["x", "W" + n], [n + "m"]), node("Add", [n + "m", "B" + n], [n])]);
const heads = letters.flatMap((n) => [node("Reshape", [n, "shape"], [n + "r"]),
  node("Transpose", [n + "r"], [n + "h"], { perm: n === "k" ? [0, 2, 3, 1] : [0, 2, 1, 3] })]);
const core = [node("Mul", ["qh", "scale"], ["qs"]), node("MatMul", ["qs", "kh"], ["s"]), node("Softmax", ["s"], ["p"], { axis: 3 }),
  node("MatMul", ["p", "vh"], ["out"])];
const scale = tensor("scale", [], Float32Array.of(0.125)), shape = tensor("shape", [4], BigInt64Array.of(2n, 750n, 20n, 64n));
const mha = node("MultiHeadAttention", letters, ["out"], MS);
const four = { qh: BHSE, k0: BHSE, vh: BHSE }, three = { q: BSD, k: BSD, v: BSD };

const graphs = {
  attention_mha: () => model([mha], [], three, { out: BSD }),
  attention_onnx: () => model([node("Attention", ["qh", "k0", "vh"], ["out"])], [], four, { out: BHSE }, 23),
  attention_explicit: () => model([node("Transpose", ["k0"], ["kh"], { perm: [0, 1, 3, 2] }), ...core], [scale], four, { out: BHSE }),
  linears: () => model(linears, weights, { x: BSD }, three),
  whole_attention: () => model([node("Attention", ["x", "W", "b"], ["out"], MS)],
    [tensor("W", [D, 3 * D], beside(wt)), tensor("b", [3 * D], Float32Array.from(bias.flatMap((b) => [...b])))], { x: BSD }, { out: BSD }),
  whole_mha: () => model([...linears, mha], weights, { x: BSD }, { out: BSD }),
  whole_explicit: () => model([...linears, ...heads, ...core], [...weights, scale, shape], { x: BSD }, { out: BHSE }),
};

// The encoder of bench_minilm.c from the same numbers, in the same order.
const MINI = { layers: 6, S: 128, D: 384, H: 12, F: 1536 };
function minilm() {
  const { S, D, H, F } = MINI, all = read("minilm"), nodes = [], tensors = [
    tensor("split", [4], BigInt64Array.of(1n, BigInt(S), BigInt(H), BigInt(D / H))), tensor("joined", [3], BigInt64Array.of(1n, BigInt(S), BigInt(D))),
    tensor("root", [], Float32Array.of(1 / Math.sqrt(D / H)))];
  let at = 0, n = 0;
  const take = (dims) => { const size = dims.reduce((a, b) => a * b, 1); at += size; return all.subarray(at - size, at); };
  const add = (op, inputs, attributes) => { nodes.push(node(op, inputs, [`v${++n}`], attributes)); return `v${n}`; };
  const constant = (dims, data = take(dims)) => { tensors.push(tensor(`c${++n}`, dims, data)); return `c${n}`; };
  const linear = (x, out, into) => {                         // ours holds [out, in], MatMul wants [in, out]
    const w = take([out, into]), turned = new Float32Array(w.length);
    for (let i = 0; i < out; i++) for (let j = 0; j < into; j++) turned[j * out + i] = w[i * into + j];
    return add("Add", [add("MatMul", [x, constant([into, out], turned)]), constant([out])]);
  };
  const head = (x, perm) => add("Transpose", [add("Reshape", [linear(x, D, D), "split"])], { perm });
  const norm = (x, y) => { const sum = add("Add", [x, y]); return add("LayerNormalization", [sum, constant([D]), constant([D])]); };
  let x = "x";
  for (let i = 0; i < MINI.layers; i++) {
    const q = head(x, [0, 2, 1, 3]), k = head(x, [0, 2, 3, 1]), v = head(x, [0, 2, 1, 3]);
    const p = add("Softmax", [add("Mul", [add("MatMul", [q, k]), "root"])], { axis: 3 });
    const mixed = add("Reshape", [add("Transpose", [add("MatMul", [p, v])], { perm: [0, 2, 1, 3] }), "joined"]);
    x = norm(x, linear(mixed, D, D));
    x = norm(x, linear(add("Gelu", [linear(x, F, D)], { domain: "com.microsoft" }), D, F));
  }
  nodes.push(node("Identity", [x], ["out"]));
  return model(nodes, tensors, { x: [1, S, D] }, { out: [1, S, D] });
}
graphs.minilm = minilm;

const t = (a, dims) => new ort.Tensor("float32", a, dims);
const q = read("q"), k = read("k"), v = read("v"), ref = read("ref"), refBSD = joinHeads(ref);
const feeds = (name) => name === "minilm" ? { x: t(read("minilm_x"), [1, MINI.S, MINI.D]) } : name.startsWith("whole") || name === "linears" ? { x: t(read("x"), BSD) }
  : name === "attention_mha" ? { q: t(joinHeads(q), BSD), k: t(joinHeads(k), BSD), v: t(joinHeads(v), BSD) }
  : { qh: t(q, BHSE), k0: t(k, BHSE), vh: t(v, BHSE) };

const ready = {};
for (const name of Object.keys(graphs)) {
  try {
    const session = await ort.InferenceSession.create(graphs[name](), { intraOpNumThreads: +threads, interOpNumThreads: 1,
      executionMode: "sequential", graphOptimizationLevel: "all", logSeverityLevel: 3 });
    ready[name] = { session, feed: feeds(name) };
    await session.run(ready[name].feed);
  } catch (e) {
    delete ready[name];
    console.error(`peer_ort: ${name} left out: ${String(e.message ?? e).split("\n")[0].slice(0, 160)}`);
  }
}
console.log("ready " + Object.keys(ready).join(" "));

async function check(name) {
  const { out } = await ready[name].session.run(ready[name].feed), want = name === "minilm" ? read("minilm_ref") : out.dims.length === 4 ? ref : refBSD;
  return out.data.reduce((worst, x, i) => Math.max(worst, Math.abs(x - want[i])), 0);
}
for await (const line of createInterface({ input: process.stdin })) {
  if (line.startsWith("check ")) { console.log(await check(line.slice(6))); continue; }
  const { session, feed } = ready[line], start = performance.now();
  await session.run(feed);
  console.log((performance.now() - start).toFixed(5));
}
process.exit(0);
