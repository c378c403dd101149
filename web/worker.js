// The worker: bpfrun in WebAssembly, and a line to the page.
import './wasm_exec.js';

let ready;
globalThis.bpfrunReady = () => ready();

async function load() {
  const response = await fetch(new URL('bpfrun.wasm.gzip', import.meta.url));
  if (!response.ok) throw new Error(`bpfrun.wasm.gzip: ${response.status} ${response.statusText}`);
  const plain = response.body.pipeThrough(new DecompressionStream('gzip'));
  const go = new globalThis.Go();
  const begun = new Promise(resolve => { ready = resolve; });
  const {instance} = await WebAssembly.instantiateStreaming(new Response(plain, {headers: {'Content-Type': 'application/wasm'}}), go.importObject);
  // When bpfrun ends, which it never does by itself, memory ran out: an uncaught error ends this worker for the page.
  go.run(instance).then(() => setTimeout(() => { throw new Error('it ran out of memory'); }));
  await begun;
}

const loaded = load();
loaded.then(() => postMessage({ready: true}), e => postMessage({failed: String(e.message ?? e)}));

onmessage = async ({data}) => {
  await loaded;
  postMessage({id: data.id, answer: new TextDecoder().decode(globalThis.bpfrun.answer(data.bytes))});
};
