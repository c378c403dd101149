// Usage: node answer.mjs wasm_exec.js bpfrun.wasm < messages > answers, both one JSON document a line.
import {readFileSync, writeSync} from 'node:fs';
import {createRequire} from 'node:module';
import {webcrypto} from 'node:crypto';

const [execFile, wasmFile] = process.argv.slice(2);
globalThis.crypto ??= webcrypto; // node 18 has it only here
createRequire(import.meta.url)(execFile);
const go = new globalThis.Go();
const ready = new Promise(resolve => { globalThis.bpfrunReady = resolve; });
const {instance} = await WebAssembly.instantiate(readFileSync(wasmFile), go.importObject);
go.run(instance);
await ready;

function write(text) {
  for (let b = Buffer.from(text); b.length > 0;) {
    try { b = b.subarray(writeSync(1, b)); } catch (e) { if (e.code !== 'EAGAIN') throw e; }
  }
}
for (const line of readFileSync(0, 'utf8').split('\n')) {
  if (line === '') continue;
  const answer = new TextDecoder().decode(globalThis.bpfrun.answer(new TextEncoder().encode(line)));
  write(answer.replaceAll('\n', '') + '\n'); // no line break is inside a string
}
process.exit(0);
