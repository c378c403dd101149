// The extension in a stand-in for VS Code: what it registers, and what comes of it with the real command.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../../..');
const work = mkdtempSync(path.join(tmpdir(), 'bpfrun-vscode-'));
after(() => rmSync(work, { recursive: true }));

class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
}
class Range {
  constructor(a, b, c, d) { Object.assign(this, { start: new Position(a, b), end: new Position(c, d) }); }
  contains(p) { return p.line >= this.start.line && p.line <= this.end.line; }
}
const bag = (...names) => class { constructor(...args) { names.forEach((n, i) => { this[n] = args[i]; }); } };
const uri = (fsPath) => ({ fsPath, toString: () => fsPath });

// host is as much of VS Code as the extension uses; it records what it is given.
function host() {
  const seen = { errors: [], started: [], tasks: [], commands: new Map(), lenses: [], inlay: [], diagnostics: new Map(), profiles: [], status: [], factories: {} };
  const folder = { uri: uri(work), name: 'work' };
  const settings = { path: process.env.BPFRUN || 'bpfrun', btf: ['embedded'], inlayHints: true };
  const collection = () => {
    const items = new Map();
    return { get size() { return items.size; }, add: (i) => items.set(i.id, i), forEach: (f) => items.forEach((i) => f(i)), replace: (list) => { items.clear(); list.forEach((i) => items.set(i.id, i)); } };
  };
  const vscode = {
    Position, Range,
    CodeLens: bag('range', 'command'), Diagnostic: bag('range', 'message', 'severity'), DiagnosticRelatedInformation: bag('location', 'message'), Location: bag('uri', 'range'),
    InlayHint: bag('position', 'label'), ShellExecution: bag('command', 'args'), Task: bag('definition', 'scope', 'name', 'source', 'execution'), StatementCoverage: bag('executed', 'location'),
    FileCoverage: { fromDetails: (u, details) => ({ uri: u, details }) },
    TestMessage: Object.assign(bag('message'), { diff: (message, want, got) => ({ message, want, got }) }),
    EventEmitter: class { event = () => {}; fire() {} },
    DiagnosticSeverity: { Error: 0 }, TestRunProfileKind: { Run: 1, Debug: 2, Coverage: 3 }, TaskScope: { Workspace: 1 }, Uri: { file: uri },
    workspace: {
      workspaceFolders: [folder], getWorkspaceFolder: () => folder, getConfiguration: () => ({ get: (k) => settings[k] }),
      findFiles: async () => [], createFileSystemWatcher: () => ({ onDidChange: () => {}, onDidCreate: () => {} }),
    },
    languages: {
      createDiagnosticCollection: () => ({ set: (u, list) => seen.diagnostics.set(u.fsPath, list) }),
      registerCodeLensProvider: (_l, p) => seen.lenses.push(p), registerInlayHintsProvider: (_l, p) => seen.inlay.push(p),
    },
    commands: { registerCommand: (name, run) => seen.commands.set(name, run) },
    window: { showErrorMessage: (m) => seen.errors.push(m), setStatusBarMessage: (m) => seen.status.push(m) },
    DebugAdapterExecutable: bag('command', 'args'),
    debug: { registerDebugAdapterDescriptorFactory: (type, factory) => { seen.factories[type] = factory; }, startDebugging: async (_f, c) => seen.started.push(c) },
    tasks: { executeTask: async (t) => seen.tasks.push(t) },
    tests: {
      createTestController: () => ({
        items: collection(),
        createTestItem: (id, label, u) => { assert.ok(!id.includes('\0'), `VS Code refuses the id ${JSON.stringify(id)}`); const i = { id, label, uri: u, children: collection() }; const add = i.children.add; i.children.add = (c) => { c.parent = i; add(c); }; return i; },
        createRunProfile: (name, kind, run) => { const p = { name, kind, run }; seen.profiles.push(p); return p; },
        createTestRun: () => (seen.run = { results: new Map(), coverage: [], started() {}, passed(i) { this.results.set(i.label, 'passed'); }, failed(i, m) { this.results.set(i.label, m); }, skipped(i) { this.results.set(i.label, 'skipped'); }, errored(i, m) { this.results.set(i.label, m); }, addCoverage(c) { this.coverage.push(c); }, end() { this.ended = true; } }),
      }),
    },
  };
  return { vscode, seen };
}

const { vscode, seen } = host();
let api;
before(() => {
  for (const dir of ['examples/tp_btf', 'testdata/src/refused.bpf.c', 'testdata/objects/clang-14/refused.o']) {
    const to = dir.startsWith('examples') ? path.join(work, dir) : path.join(work, 'refused', path.basename(dir).replace(/^refused\.o$/, 'refused.bpf.o'));
    cpSync(path.join(root, dir), to, { recursive: true });
  }
  const load = Module._load;
  Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
  api = createRequire(import.meta.url)('../extension.js').activate({ subscriptions: [] });
});

const source = () => path.join(work, 'examples/tp_btf/tp_btf.bpf.c');
const documentOf = async (file) => {
  const { readFileSync } = await import('node:fs');
  const lines = readFileSync(file, 'utf8').split('\n');
  return { uri: uri(file), getText: () => lines.join('\n'), lineCount: lines.length, lineAt: (n) => ({ text: lines[n] }) };
};
const never = { isCancellationRequested: false, onCancellationRequested() {} };

test('the manifest has every command that the extension registers', () => {
  const pkg = createRequire(import.meta.url)('../package.json');
  assert.deepEqual([...seen.commands.keys()].sort(), pkg.contributes.commands.map((c) => c.command).sort());
});

test('run, debug and verify are above each program', async () => {
  const lenses = seen.lenses[0].provideCodeLenses(await documentOf(source()));
  assert.equal(lenses.length, 9);
  const [run, debug] = lenses;
  await seen.commands.get(run.command.command)(...run.command.arguments);
  assert.deepEqual(seen.tasks[0].execution.args, ['run', source().replace('.c', '.o'), '-p', 'on_wakeup', '--btf', 'embedded']);
  await seen.commands.get(debug.command.command)(...debug.command.arguments);
  assert.equal(seen.started[0].prog, 'on_wakeup');
  assert.equal(seen.started[0].type, 'bpfrun');
});

test('the debugger is the command of the settings', () => {
  const adapter = seen.factories.bpfrun.createDebugAdapterDescriptor();
  assert.deepEqual([adapter.command, adapter.args], [process.env.BPFRUN || 'bpfrun', ['dap']]);
});

test('what the verifier refuses is a diagnostic at its line', async () => {
  const file = path.join(work, 'refused/refused.bpf.c');
  await seen.commands.get('bpfrun.verify')(uri(file), 'null_access');
  const [d] = seen.diagnostics.get(file);
  assert.match(d.message, /invalid mem access/);
  assert.ok((await documentOf(file)).lineAt(d.range.start.line).text.includes('e->hits'));
  assert.equal(d.relatedInformation[0].location.uri.fsPath, file);
  await seen.commands.get('bpfrun.verify')(uri(source()));
  assert.deepEqual(seen.diagnostics.get(source()), []);
  assert.match(seen.status.at(-1), /accepted/);
  await seen.commands.get('bpfrun.verify')(uri(path.join(work, 'none.c')));
  assert.match(seen.errors.at(-1), /no object of none\.c/);
});

test('hints are at the end of the lines with CO-RE accesses', async () => {
  const document = await documentOf(source());
  const hints = await seen.inlay[0].provideInlayHints(document, new Range(0, 0, 1000, 0), never);
  assert.ok(hints.some((h) => /^task_struct\.pid @ \d+$/.test(h.label)), JSON.stringify(hints));
  assert.deepEqual(await seen.inlay[0].provideInlayHints(document, new Range(0, 0, 1, 0), never), []);
});

test('hints outlive the request that asked for them first', async () => {
  const provider = new seen.inlay[0].constructor();
  const document = await documentOf(source());
  let cancel = () => {};
  const first = provider.provideInlayHints(document, new Range(0, 0, 1000, 0), { isCancellationRequested: false, onCancellationRequested: (f) => { cancel = f; } });
  await new Promise((done) => setImmediate(done));
  cancel();
  await first;
  assert.ok((await provider.provideInlayHints(document, new Range(0, 0, 1000, 0), never)).length > 0);
});

test('the test explorer lists and runs scenarios', async () => {
  await api.tests.discover();
  const items = [];
  api.tests.controller.items.forEach((i) => items.push(i));
  const [file] = items;
  assert.equal(items.length, 1);
  assert.equal(file.children.size, 3);
  const [run, , coverage] = seen.profiles;
  await run.run({}, never);
  assert.deepEqual([...seen.run.results.values()], ['passed', 'passed', 'passed']);
  assert.ok(seen.run.ended);
  let wakes;
  file.children.forEach((c) => { if (c.label === 'wakes') wakes = c; });
  await coverage.run({ include: [wakes] }, never);
  assert.deepEqual([...seen.run.results.keys()], ['wakes']);
  assert.equal(seen.run.coverage.length, 1);
  await seen.profiles[1].run({ include: [wakes] });
  assert.deepEqual([seen.started.at(-1).prog, seen.started.at(-1).scenario], ['wakes', path.join(work, 'examples/tp_btf/tp_btf.yaml')]);
});
