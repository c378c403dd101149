// What the page knows: the site, the object, the kernels, and the engine that answers about them.
import {HTTPEngine, WorkerEngine, base64} from './engine.js';
import * as state from './state.js';

const seconds = 20; // that a message may take unless the URL says otherwise

// token is that of bpfrun play, which gives some files to nobody else.
export const token = new URLSearchParams(location.search).get('token') ?? '';

// load fetches a file of the site.
export async function load(path) {
  const url = path.split('/').map(encodeURIComponent).join('/'); // files of users have any names
  const response = await fetch(url, token ? {headers: {'X-Bpfrun-Token': token}} : {});
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return response;
}

async function bytesOf(path) { return new Uint8Array(await (await load(path)).arrayBuffer()); }

// other is the state that another object begins with.
const other = Object.fromEntries(['example', 'name', 'object', 'asm', 'program', 'at', 'why', 'insn', 'packet', 'field', 'type', 'find', 'runs'].map(f => [f, '']));

const typedName = 'typed.o';

export class Session {
  constructor(site) {
    this.site = site;
    this.engine = site.engine === 'http' ? new HTTPEngine(token) : new WorkerEngine();
    this.state = {};
    this.generation = 0;
    this.known = []; // kernels that the engine knows
    this.added = new Map(); // files with types, by name
    this.typed = null; // assembly text in place of a file
    this.answers = new Map();
    this.object = '';
    this.info = null;
    this.packets = [];
  }

  get limit() { return 1000 * Math.min(3600, Math.max(0.01, Number(this.state.limit) || seconds)); }
  get kernel() { return this.kernelNames().includes(this.state.kernel) ? this.state.kernel : this.kernelNames()[0]; }
  get objectName() { return this.typed !== null ? typedName : this.file?.name ?? this.example()?.file.split('/').pop() ?? ''; }
  get programs() { return this.info?.programs ?? []; }

  // program is the chosen one, or the first.
  get program() { return this.programs.some(p => p.name === this.state.program) ? this.state.program : this.programs[0]?.name; }

  example() {
    const all = this.site.open ? [this.site.open, ...this.site.examples] : this.site.examples;
    return all.find(e => e.name === this.state.example) ?? all[0];
  }

  // lost says why the object that the address names is not here.
  get lost() {
    const {example, name} = this.state;
    if (this.file || this.typed !== null) return '';
    if (example) return this.example().name === example ? '' : `There is no example ${example}: choose an object, or open a file.`;
    return name ? `${name} is too large to be part of a link: open the file to see what the link shows.` : '';
  }

  kernelNames() {
    const names = this.known.map(k => k.name);
    for (const k of [...this.site.kernels.map(k => k.name), ...this.added.keys()]) if (!names.includes(k)) names.push(k);
    return names;
  }

  // set changes the state. An answer to another state stays known.
  set(change, push) {
    Object.assign(this.state, change);
    state.write(this.state, push);
  }

  // follow takes the state of a URL.
  async follow(next) {
    const before = this.objectKey();
    this.state = next;
    this.typed = next.asm ? await state.unpackText(next.asm) : null;
    if (this.typed !== null) {
      this.file = null;
    } else if (next.object) {
      this.file = {name: next.name || 'object.bpf.o', bytes: await state.unpack(next.object)};
    } else if (next.example) {
      this.file = null;
    } else if (next.name && this.file?.name === next.name) {
      // a large object that was opened in this page
    } else {
      this.file = null;
      if (!next.name) this.state.example = this.example().name;
    }
    if (this.objectKey() !== before) this.forget();
  }

  objectKey() { return this.typed !== null ? `typed ${this.typed}` : this.file ?? this.state.example; }

  forget() {
    this.object = '';
    this.info = null;
    this.answers.clear();
  }

  openExample(name) {
    this.file = this.typed = null;
    this.forget();
    const {kernel} = this.site.examples.find(e => e.name === name) ?? {};
    if (this.kernelNames().includes(kernel)) this.set({kernel});
    this.set({...other, example: name}, true);
  }

  async openFile(name, bytes) {
    this.file = {name, bytes};
    this.typed = null;
    this.forget();
    this.set({...other, name, object: await state.pack(bytes) ?? ''}, true);
  }

  // openTyped takes assembly text as the object.
  async openTyped(text) {
    const asm = await state.packText(text);
    if (asm === undefined) throw new Error('the text is too large');
    this.file = null;
    this.typed = text;
    this.forget();
    this.set({...other, asm}, true);
  }

  async addKernel(file, bytes) {
    const name = file.replace(/(\.btf)?(\.(xz|gz|zst))?$/, '');
    await this.begin();
    await this.engine.call({do: 'kernel', name, data: base64(bytes)}, this.limit);
    this.added.set(name, bytes);
    this.answers.clear();
    await this.list();
    this.set({kernel: name}, true);
  }

  async list() { this.known = (await this.engine.call({do: 'kernels'}, this.limit)).kernels; }

  // begin makes sure that the engine has what it was given before it was last started.
  async begin() {
    const generation = await this.engine.begin();
    if (generation === this.generation) return;
    this.generation = generation;
    this.object = '';
    await this.list();
    for (const [name, bytes] of this.added) await this.engine.call({do: 'kernel', name, data: base64(bytes)}, this.limit);
  }

  // open makes sure that the engine has the object.
  async open() {
    await this.begin();
    while (!this.object) {
      if (this.lost) throw new Error(this.lost);
      const key = this.objectKey();
      const {name, data} = await this.given();
      const opened = await this.engine.call({do: 'open', name, data}, this.limit);
      if (key !== this.objectKey()) continue; // another one was chosen meanwhile
      this.object = opened.object;
      this.info = opened.info;
      this.packets = opened.packets;
    }
  }

  // given returns the name and the bytes, in base64, of the chosen object.
  async given() {
    if (this.typed !== null) {
      await this.have(this.kernel); // whose functions the text may call
      return {name: typedName, ...await this.engine.call({do: 'assemble', name: 'typed.s', text: this.typed, kernel: this.kernel}, this.limit)};
    }
    const example = this.example();
    const file = this.file ?? {name: example.file.split('/').pop(), bytes: await bytesOf(example.file)};
    return {name: file.name, data: base64(file.bytes)};
  }

  // have makes sure that the engine has a kernel.
  async have(name) {
    if (this.known.some(k => k.name === name)) return;
    const k = this.site.kernels.find(k => k.name === name);
    if (!k) return;
    await this.engine.call({do: 'kernel', name, data: base64(await bytesOf(k.file))}, Math.max(this.limit, 60_000));
    await this.list();
  }

  // ask sends a message about the object on the chosen kernel, or on those of the message, and remembers the answer.
  async ask(message, limit = this.limit) {
    await this.open();
    const whole = {object: this.object, kernel: this.kernel, ...message};
    if (whole.kernels) delete whole.kernel;
    if (this.state.packet && this.packets.length && ['run', 'code', 'step', 'why'].includes(whole.do)) whole.packet ??= this.state.packet;
    const key = JSON.stringify(whole);
    if (this.answers.has(key)) return this.answers.get(key);
    for (const k of whole.kernels ?? [whole.kernel]) await this.have(k);
    if (whole.do === 'layout' && !whole.own) delete whole.object;
    delete whole.own;
    const answer = await this.engine.call(whole, limit);
    if (this.answers.size > 200) this.answers.clear();
    this.answers.set(key, answer);
    return answer;
  }
}
