// tests/bench/onnx.mjs: just enough of the ONNX protobuf format to hand ONNX Runtime the graphs of the bench.
const text = new TextEncoder();

function varint(n) {
  const bytes = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  return Uint8Array.from([...bytes, Number(n)]);
}
function join(parts) {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) { out.set(p, at); at += p.length; }
  return out;
}
const int = (field, value) => join([varint(field << 3), varint(value)]);
const bytes = (field, value) => join([varint((field << 3) | 2), varint(value.length), value]);
const string = (field, value) => bytes(field, text.encode(value));

const FLOAT = 1, INT64 = 7;                                   // TensorProto.DataType

export const node = (op, inputs, outputs, { domain = "", ...attributes } = {}) => join([
  ...inputs.map((name) => string(1, name)), ...outputs.map((name) => string(2, name)), string(4, op),
  ...Object.entries(attributes).map(([name, value]) => bytes(5, Array.isArray(value)
    ? join([string(1, name), ...value.map((v) => int(8, v)), int(20, 7)])
    : join([string(1, name), int(3, value), int(20, 2)]))),
  string(7, domain)]);

// data: Float32Array or BigInt64Array
export const tensor = (name, dims, data) => join([
  ...dims.map((d) => int(1, d)), int(2, data instanceof BigInt64Array ? INT64 : FLOAT), string(8, name),
  bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))]);

const value = (name, dims) => join([string(1, name), bytes(2, bytes(1, join([
  int(1, FLOAT), bytes(2, join(dims.map((d) => bytes(1, int(1, d)))))])))]);

// inputs, outputs: { name: dims }
export const model = (nodes, tensors, inputs, outputs, opset = 17) => join([
  int(1, opset > 21 ? 11 : 8),
  bytes(7, join([...nodes.map((n) => bytes(1, n)), string(2, "bench"), ...tensors.map((t) => bytes(5, t)),
    ...Object.entries(inputs).map(([name, dims]) => bytes(11, value(name, dims))),
    ...Object.entries(outputs).map(([name, dims]) => bytes(12, value(name, dims)))])),
  bytes(8, join([string(1, ""), int(2, opset)])), bytes(8, join([string(1, "com.microsoft"), int(2, 1)]))]);
