// What the extension makes of sources and of the documents of the real command.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import core from '../lib/core.js';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const dir = mkdtempSync(path.join(tmpdir(), 'bpfrun-vscode-'));
after(() => rmSync(dir, { recursive: true }));

const bpfrun = process.env.BPFRUN || 'bpfrun';
const json = (...args) => {
  try {
    return JSON.parse(execFileSync(bpfrun, [...args, '--json'], { cwd: root, maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'ignore'] }));
  } catch (err) {
    return JSON.parse(err.stdout); // an exit code tells what was found
  }
};

test('programs are found at their SEC()', () => {
  assert.deepEqual(core.programs(readFileSync(path.join(root, 'examples/tp_btf/tp_btf.bpf.c'), 'utf8')).map((p) => [p.section, p.name]), [
    ['tp_btf/sched_wakeup', 'on_wakeup'],
    ['tp_btf/sched_wakeup_new', 'on_wakeup_new'],
    ['tp_btf/sched_switch', 'on_switch'],
  ]);
  for (const [text, want] of [
    ['SEC("xdp") int filter(struct xdp_md *ctx)\n{', 'filter'],
    ['SEC("xdp")\n__attribute__((noinline)) int a(void) {', 'a'],
    ['SEC("kprobe/x")\nint BPF_KPROBE(entry, int fd)', 'entry'],
    ['SEC("tc")\nint\nlong_type(struct __sk_buff *skb)', 'long_type'],
    ['SEC("license")\nchar LICENSE[] = "GPL";', undefined],
    ['struct { int a; } m SEC(".maps");', undefined],
    ['SEC(".struct_ops")\nstruct tcp_congestion_ops x = {', undefined],
    ['// SEC("xdp")\nint f(void) {', undefined],
  ]) assert.equal(core.programs(text)[0]?.name, want, text);
});

test('every example has a program for each SEC() that its object has', () => {
  for (const name of ['xdp', 'tc', 'fentry', 'lsm', 'usdt', 'iter']) {
    const found = new Set(core.programs(readFileSync(path.join(root, `examples/${name}/${name}.bpf.c`), 'utf8')).map((p) => p.name));
    for (const p of json('info', `examples/${name}/${name}.bpf.o`).programs) assert.ok(found.has(p.name), `${name}: ${p.name}`);
  }
});

test('objects are named after their source', () => {
  assert.deepEqual(core.objectNames('/a/x.bpf.c'), ['x.bpf.o', 'x.o']);
  assert.deepEqual(core.objectNames('x.c'), ['x.o', 'x.bpf.o']);
});

test('tests and what became of them', () => {
  const [file] = core.tests(json('test', '--list', 'examples/tp_btf', '--btf', 'embedded'));
  assert.equal(file.file, 'examples/tp_btf/tp_btf.yaml');
  assert.deepEqual(file.runs.map((r) => r.prog), ['on_wakeup', 'on_switch', 'on_wakeup_new']);
  const results = core.outcomes(json('test', file.file, '--btf', 'embedded'));
  for (const r of file.runs) assert.deepEqual(results.get(r.name).failures, [], r.name);
  const one = core.outcomes(json('test', file.file, '--btf', 'embedded', '--run', core.exactly(['wakes'])));
  assert.ok(one.has('wakes') && !one.has('the idle task is not counted'));
});

test('a failure has its place and what was wanted', async () => {
  const { writeFileSync } = await import('node:fs');
  const file = path.join(dir, 'wrong.yaml');
  writeFileSync(file, `object: ${root}/examples/tp_btf/tp_btf.bpf.o\nruns:\n- {name: a, prog: on_wakeup, expect: {ret: 7}}\n- {name: b (c), prog: on_wakeup}\n`);
  const [f] = core.outcomes(json('test', file, '--btf', 'embedded')).get('a').failures;
  assert.match(f.message, /^ret: want 7, got 0/);
  assert.deepEqual([f.place.file, f.place.line], [file, 3]);
  assert.deepEqual([...core.outcomes(json('test', file, '--btf', 'embedded', '--run', core.exactly(['b (c)']))).keys()], ['b (c)']);
  writeFileSync(file, 'object: none.o\nruns: []\n');
  assert.match(core.outcomes(json('test', file, '--btf', 'embedded')).get('').failures[0].message, /no object/);
});

test('verdicts have their line, their history and a change', () => {
  const all = core.verdicts(json('verify', 'testdata/objects/clang-14/refused.o', '--btf', 'embedded'));
  const v = all.find((x) => x.program === 'null_access');
  assert.match(v.message, /invalid mem access/);
  assert.ok(core.sameFile(v.file, path.join(root, 'testdata/src/refused.bpf.c')) && v.line > 1);
  assert.ok(v.related.length > 0 && v.changes[0].code.includes('if (!e)'));
  assert.deepEqual(core.verdicts(json('verify', 'examples/xdp/xdp.bpf.o', '--btf', 'embedded')), []);
});

test('hints say where fields are on each kernel', () => {
  const texts = core.hints(json('relo', 'examples/tp_btf/tp_btf.bpf.o', '--btf', 'embedded', '--btf', 'testdata/btf/linux-5.10.262-amd64-cloud.btf.xz'));
  const pid = texts.filter((h) => h.text.startsWith('task_struct.pid @ ') && h.line === 44);
  assert.equal(pid.length, 2);
  assert.notEqual(pid[0].text, pid[1].text, 'offsets differ');
  assert.ok(pid.every((h) => h.ok));
});

test('coverage is read', () => {
  const file = path.join(dir, 'lcov.info');
  execFileSync(bpfrun, ['test', 'examples/tp_btf', '--btf', 'embedded', '--cover-out', `lcov=${file}`], { cwd: root, stdio: 'ignore' });
  const [f] = core.lcov(readFileSync(file, 'utf8'));
  assert.ok(core.sameFile(f.file, path.join(root, 'examples/tp_btf/tp_btf.bpf.c')));
  assert.ok(f.lines.some((l) => l.count > 0));
});

test('paths of compilers are compared from their end', () => {
  assert.ok(core.sameFile('../src/a.c', '/w/src/a.c'));
  assert.ok(core.sameFile('/w/src/a.c', '/w/src/a.c'));
  assert.ok(!core.sameFile('lib/a.c', '/w/src/a.c'));
  assert.ok(!core.sameFile('', '/w/src/a.c'));
});
