// The worker: bpfrun in WebAssembly, and a line to the page.
import './wasm_exec.js';

let ready, go;
globalThis.bpfrunReady = () => ready();

async function get(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname.split('/').pop()}: ${response.status} ${response.statusText}`);
  return response;
}

async function load() {
  const types = get(new URL('embedded.btf.zst', import.meta.url)).then(r => r.arrayBuffer()); // while the program is loaded and compiled
  types.catch(() => {}); // awaited below
  const response = await get(new URL('bpfrun.wasm.gzip', import.meta.url));
  const plain = response.body.pipeThrough(new DecompressionStream('gzip'));
  go = new globalThis.Go();
  const begun = new Promise(resolve => { ready = resolve; });
  const {instance} = await WebAssembly.instantiateStreaming(new Response(plain, {headers: {'Content-Type': 'application/wasm'}}), go.importObject);
  go.run(instance);
  await begun;
  globalThis.bpfrun.types?.(new Uint8Array(await types));
}

const loaded = load();
loaded.then(() => postMessage({ready: true}), e => postMessage({failed: String(e.message ?? e)}));

onmessage = async ({data}) => {
  await loaded;
  try {
    const answer = globalThis.bpfrun.answer(data.bytes);
    if (go.exited) throw new Error('it ran out of memory'); // nothing else ends bpfrun
    postMessage({id: data.id, answer: new TextDecoder().decode(answer)});
  } catch (e) {
    postMessage({gone: String(e.message ?? e)});
  }
};
