// The state of the page is in the part of its URL after #, so that a link shows what the sender saw. Small objects are part of it.

const fields = ['view', 'example', 'kernel', 'program', 'packet', 'field', 'at', 'why', 'proc', 'insn', 'type', 'find', 'runs', 'limit', 'name', 'object', 'asm'];

// largestObject is how many compressed bytes of an object a URL holds.
const largestObject = 24 << 10;

export function read() {
  const state = {};
  const given = new URLSearchParams(location.hash.slice(1));
  for (const f of fields) if (given.has(f)) state[f] = given.get(f);
  return state;
}

export function write(state, push) {
  const out = new URLSearchParams();
  for (const f of fields) if (state[f] !== undefined && state[f] !== '' && state[f] !== null) out.set(f, state[f]);
  const url = `${location.pathname}${location.search}#${out}`;
  if (url === `${location.pathname}${location.search}${location.hash}`) return;
  history[push ? 'pushState' : 'replaceState'](null, '', url);
}

// pack returns an object for a URL, or undefined if it is too large.
export async function pack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  const small = new Uint8Array(await new Response(stream).arrayBuffer());
  if (small.length > largestObject) return undefined;
  return btoa(String.fromCharCode(...small)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// packText returns text for a URL, or undefined if it is too large.
export function packText(text) { return pack(new TextEncoder().encode(text)); }

// unpackText returns the text of a URL.
export async function unpackText(text) { return new TextDecoder().decode(await unpack(text)); }

// unpack returns the object of a URL.
export async function unpack(text) {
  const small = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
  const reader = new Blob([small]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const parts = [];
  for (let size = 0; ;) {
    const {done, value} = await reader.read();
    if (done) break;
    size += value.length;
    if (size > 16 << 20) throw new Error('the object in the address is too large');
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
