// What the page's modules do without a browser: node --test web/test/units.test.mjs (go test ./web runs it, too).
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import vm from 'node:vm';

const requests = [];
globalThis.location = {search: '?token=t', hash: '', pathname: '/'};
globalThis.history = {pushState() {}, replaceState() {}};
globalThis.fetch = async (url, options) => {
  requests.push({url, options});
  return new Response(new Uint8Array([1]));
};
const {Session} = await import('../session.js');
const {marks} = await import('../views/listing.js');
const {WorkerEngine} = await import('../engine.js');
const {cells, setField} = await import('../packet.js');

const site = {engine: 'http', examples: [{name: 'a', title: 'a', file: 'examples/a.o'}, {name: 'b', title: 'b', file: 'examples/b.o'}], kernels: []};

// engine answers when it is told to, by the name of the object.
function engine() {
  const open = new Map();
  return {
    open,
    begin: async () => 1,
    call: m => m.do === 'kernels' ? Promise.resolve({kernels: []}) : new Promise(resolve => open.set(m.name, () => resolve({object: `id of ${m.name}`, info: {programs: []}, packets: []}))),
  };
}

const until = async ready => { while (!ready()) await new Promise(resolve => setTimeout(resolve, 1)); };

test('a late answer about another object is not taken for that of the chosen one', async () => {
  const s = new Session(site);
  s.engine = engine();
  s.state = {example: 'a'};
  const first = s.open();
  await until(() => s.engine.open.has('a.o'));
  s.openExample('b');
  const second = s.open();
  await until(() => s.engine.open.has('b.o'));
  s.engine.open.get('b.o')();
  await second;
  s.engine.open.get('a.o')();
  await first;
  assert.equal(s.object, 'id of b.o');
});

test('files of any name are asked for by that name', async () => {
  const s = new Session({...site, open: {name: 'x', title: 'x', file: 'object/50% a#b?c.o'}});
  s.engine = engine();
  s.state = {example: 'x'};
  const opened = s.open();
  await until(() => s.engine.open.has('50% a#b?c.o'));
  s.engine.open.get('50% a#b?c.o')();
  await opened;
  assert.equal(requests.at(-1).url, 'object/50%25%20a%23b%3Fc.o');
});

test('the time limit of an address is one that timers have', () => {
  const s = new Session(site);
  for (const [limit, want] of [['Infinity', 3600000], ['1e300', 3600000], ['-1', 10], ['x', 20000], ['5', 5000]]) {
    s.state = {limit};
    assert.equal(s.limit, want, limit);
  }
});

test('programs may have the names of methods', () => {
  for (const name of ['constructor', 'toString', '__proto__']) {
    assert.equal(marks({executed: {}, dead: {}}, name)({pc: 0}), 'missed');
    assert.equal(marks(JSON.parse(`{"executed":{"${name}":[0]},"dead":{}}`), name)({pc: 0}), 'ran');
  }
});

test('a field is changed where the expression has its header', () => {
  for (const [text, layer, nth, field, value, want] of [
    ['eth/ip/tcp', 'ip', 0, 'ttl', '9', 'eth/ip(ttl=9)/tcp'],
    ['eth/ip(src=10.0.0.1, ttl=3)/tcp', 'ip', 0, 'ttl', '9', 'eth/ip(src=10.0.0.1,ttl=9)/tcp'],
    ['ip/udp/vxlan/eth/ip/tcp', 'ip', 1, 'dst', '10.0.0.2', 'ip/udp/vxlan/eth/ip(dst=10.0.0.2)/tcp'],
    ['ip/tcp', 'eth', 0, 'type', '0x1', 'eth(type=0x1)/ip/tcp'],
    ['eth/ip/tcp/\'a/ip(b\'[:60]', 'ip', 0, 'id', '1', 'eth/ip(id=1)/tcp/\'a/ip(b\'[:60]'],
    ['eth/ip/tcp[:40]', 'tcp', 0, 'dport', '80', 'eth/ip/tcp(dport=80)[:40]'],
    ['eth/ip/tcp', 'udp', 0, 'dport', '80', undefined],
    ['02000000', 'ip', 0, 'ttl', '9', undefined],
  ]) assert.equal(setField(text, layer, nth, field, value), want, text);
});

test('a header is drawn without gaps or fields twice', () => {
  const fields = [{path: 'x.a', off: 14, bit: 0, bits: 4}, {path: 'x.b', off: 14, bit: 4, bits: 4}, {path: 'x.both', off: 14, bit: 0, bits: 8}, {path: 'x.wide', off: 16, bit: 0, bits: 48}];
  const got = cells({off: 14, len: 9, fields});
  assert.deepEqual(got.map(c => [c.from, c.bits, c.field?.path, c.first]), [[0, 4, 'x.a', true], [4, 4, 'x.b', true], [8, 8, undefined, true], [16, 16, 'x.wide', true], [32, 32, 'x.wide', false], [64, 8, undefined, true]]);
});

test('a worker that could not load bpfrun is started again', async () => {
  let started = 0;
  globalThis.Worker = class {
    constructor() {
      const failed = started++ === 0;
      setTimeout(() => this.onmessage({data: failed ? {failed: 'no network'} : {ready: true}}), 1);
    }
    terminate() {}
  };
  const e = new WorkerEngine();
  await assert.rejects(e.begin(), /no network/);
  assert.equal(await e.begin(), 2);
});

// worker runs sw.js with a network and a cache.
function serviceWorker(network, put) {
  const listeners = {}, kept = [];
  const cache = {put: async request => { await put?.(); kept.push(request.url); }, match: async () => undefined};
  vm.runInNewContext(readFileSync(new URL('../sw.js', import.meta.url), 'utf8'), {
    URL, addEventListener: (name, f) => { listeners[name] = f; }, skipWaiting() {}, clients: {claim() {}}, location: {origin: 'http://127.0.0.1:1'}, caches: {open: async () => cache}, fetch: network,
  });
  return {kept, get: async (url, headers) => {
    let answer;
    listeners.fetch({request: new Request(url, {headers}), respondWith: a => { answer = a; }});
    return answer && await answer;
  }};
}

test('nothing of bpfrun play is kept', async () => {
  const w = serviceWorker(async () => new Response('x', {headers: {'Cache-Control': 'no-store'}}));
  assert.equal(await w.get('http://127.0.0.1:1/?token=t'), undefined);
  assert.equal(await w.get('http://127.0.0.1:1/site.json', {'X-Bpfrun-Token': 't'}), undefined);
  assert.equal(await (await w.get('http://127.0.0.1:1/main.js')).text(), 'x');
  assert.deepEqual(w.kept, []);
});

test('what cannot be kept is answered', async () => {
  const network = async () => new Response('x');
  const full = serviceWorker(network, () => { throw new Error('no room'); });
  assert.equal(await (await full.get('http://127.0.0.1:1/main.js')).text(), 'x');
  const room = serviceWorker(network);
  await room.get('http://127.0.0.1:1/main.js');
  assert.deepEqual(room.kept, ['http://127.0.0.1:1/main.js']);
});
