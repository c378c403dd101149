// Processor time of messages in WebAssembly, the first time and again, under node:
//
//   node web/test/times.mjs dist/site
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {webcrypto} from 'node:crypto';
import {gunzipSync} from 'node:zlib';

const site = process.argv[2] ?? 'dist/site';
globalThis.crypto ??= webcrypto;
createRequire(import.meta.url)(`${process.cwd()}/${site}/wasm_exec.js`);

// cpu is the processor time of this process in ms, that of the compiler's threads included.
const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1000; };
const packed = readFileSync(`${site}/bpfrun.wasm.gzip`), plain = gunzipSync(packed);
console.log(`bpfrun.wasm: ${plain.length} bytes, compressed ${packed.length}`);
const go = new globalThis.Go();
const ready = new Promise(resolve => { globalThis.bpfrunReady = resolve; });
let before = cpu();
const {instance} = await WebAssembly.instantiate(plain, go.importObject);
console.log(`compile ${Math.round(cpu() - before)} ms`);
before = cpu();
go.run(instance);
await ready;
globalThis.bpfrun.types?.(new Uint8Array(readFileSync(`${site}/embedded.btf.zst`)));
console.log(`start ${Math.round(cpu() - before)} ms`);

function ask(message) {
  const before = cpu();
  const answer = JSON.parse(new TextDecoder().decode(globalThis.bpfrun.answer(new TextEncoder().encode(JSON.stringify(message)))));
  if (answer.error) throw new Error(answer.error.message);
  return [answer.result, Math.round(cpu() - before)];
}
const {examples} = JSON.parse(readFileSync(`${site}/site.json`));
for (const round of ['first', 'again']) {
  const times = [];
  for (const e of examples) {
    const [opened] = ask({do: 'open', name: e.file.split('/').pop(), data: readFileSync(`${site}/${e.file}`).toString('base64')});
    try { times.push([ask({do: 'run', object: opened.object})[1], e.name]); } catch { /* not on this kernel */ }
  }
  times.sort((a, b) => a[0] - b[0]);
  console.log(`run, ${round}: median ${times[times.length >> 1][0]} ms; ${times.map(([ms, name]) => `${name} ${ms}`).join(', ')}`);
}
process.exit(0);
