// The VS Code extension: tests, run/debug/verify at SEC(), verdicts as diagnostics, CO-RE offsets as hints, coverage. All of it comes from
// the command bpfrun, whose JSON lib/core.js reads.
'use strict';

const vscode = require('vscode');
const { execFile } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const core = require('./lib/core');

const languages = ['c', 'cpp', 'rust'].map((language) => ({ language, scheme: 'file' }));
const maxOutput = 256 << 20; // bytes of a document

function settings() {
  return vscode.workspace.getConfiguration('bpfrun');
}

// executable is the command of the settings, for everything: runs, verdicts, tests and the debugger.
function executable() {
  return settings().get('path') || 'bpfrun';
}

function kernelArgs() {
  return (settings().get('btf') || []).flatMap((k) => ['--btf', k]);
}

// bpfrun runs the command and returns its exit code and output; it fails only where the command cannot be started.
function bpfrun(args, cwd, token) {
  return new Promise((resolve, reject) => {
    const child = execFile(executable(), args, { cwd, maxBuffer: maxOutput }, (err, stdout, stderr) => {
      if (err && typeof err.code !== 'number') reject(err);
      else resolve({ code: err ? err.code : 0, stdout, stderr });
    });
    if (token) token.onCancellationRequested(() => child.kill());
  });
}

// json runs a command with --json. Where it printed no document, its message is the error.
async function json(args, cwd, token) {
  const out = await bpfrun([...args, '--json'], cwd, token);
  try {
    return JSON.parse(out.stdout);
  } catch {
    throw new Error(out.stderr.trim() || `bpfrun ended with ${out.code}`);
  }
}

function folderOf(uri) {
  const f = vscode.workspace.getWorkspaceFolder(uri);
  return f ? f.uri.fsPath : path.dirname(uri.fsPath);
}

// objectOf finds the compiled object of a source: beside it, else the newest of that name in the workspace.
async function objectOf(uri) {
  const names = core.objectNames(uri.fsPath);
  for (const n of names) {
    const beside = path.join(path.dirname(uri.fsPath), n);
    if (fs.existsSync(beside)) return beside;
  }
  let best;
  for (const n of names) {
    for (const found of await vscode.workspace.findFiles(`**/${n}`, undefined, 20)) {
      const changed = fs.statSync(found.fsPath).mtimeMs;
      if (!best || changed > best.changed) best = { path: found.fsPath, changed };
    }
  }
  return best && best.path;
}

// fileOf finds the file that a compiler recorded as a relative or absolute path.
function fileOf(recorded, folder, likely) {
  if (likely && core.sameFile(recorded, likely)) return likely;
  for (const p of [recorded, path.join(folder, recorded)]) if (path.isAbsolute(p) && fs.existsSync(p)) return p;
  return likely && path.basename(recorded) === path.basename(likely) ? likely : undefined;
}

function lineRange(line) {
  return new vscode.Range(Math.max(0, line - 1), 0, Math.max(0, line - 1), 1000);
}

function fail(err) {
  vscode.window.showErrorMessage(`bpfrun: ${err.message}`);
}

// lenses are run, debug and verify at each SEC().
const lenses = {
  provideCodeLenses(document) {
    return core.programs(document.getText()).flatMap((p) => {
      const range = new vscode.Range(p.line, 0, p.line, 0);
      return [['run', '$(play) run'], ['debug', '$(debug-alt) debug'], ['verify', '$(check) verify']].map(
        ([what, title]) => new vscode.CodeLens(range, { title, command: `bpfrun.${what}`, arguments: [document.uri, p.name] }),
      );
    });
  },
};

async function needObject(uri) {
  const object = await objectOf(uri);
  if (!object) throw new Error(`no object of ${path.basename(uri.fsPath)} in the workspace: compile it first (${core.objectNames(uri.fsPath).join(', ')})`);
  return object;
}

// shown are the diagnostics of each object, by source.
class Diagnostics {
  constructor() {
    this.collection = vscode.languages.createDiagnosticCollection('bpfrun');
  }

  // verify shows the refusals of an object's programs, or of one of them, in a source and the files that it includes.
  async verify(uri, program) {
    const object = await needObject(uri);
    const folder = folderOf(uri);
    const args = ['verify', object, ...(program ? ['-p', program] : []), ...kernelArgs()];
    const doc = await json(args, folder);
    const found = core.verdicts(doc);
    const by = new Map([[uri.fsPath, []]]);
    for (const v of found) {
      const file = fileOf(v.file, folder, uri.fsPath);
      if (!file) continue;
      const d = new vscode.Diagnostic(lineRange(v.line), v.kernel ? `${v.message}\n(${v.kernel})` : v.message, vscode.DiagnosticSeverity.Error);
      d.source = 'bpfrun verify';
      d.relatedInformation = v.related
        .map((r) => ({ ...r, file: fileOf(r.file, folder, uri.fsPath) }))
        .filter((r) => r.file)
        .map((r) => new vscode.DiagnosticRelatedInformation(new vscode.Location(vscode.Uri.file(r.file), lineRange(r.line)), r.text));
      by.set(file, [...(by.get(file) || []), d]);
    }
    for (const [file, list] of by) this.collection.set(vscode.Uri.file(file), list);
    const error = core.documents(doc).find((d) => d.error);
    if (error && !found.length) throw new Error(error.error.message);
    return found;
  }
}

// inlay shows where the fields are on the kernel that the settings name first.
class Inlay {
  constructor() {
    this.known = new Map(); // by object
    this.changed = new vscode.EventEmitter();
    this.onDidChangeInlayHints = this.changed.event;
  }

  async provideInlayHints(document, range) {
    if (!settings().get('inlayHints')) return [];
    const object = await objectOf(document.uri);
    if (!object) return [];
    const folder = folderOf(document.uri);
    const stamp = `${fs.statSync(object).mtimeMs} ${kernelArgs().join(' ')}`;
    let entry = this.known.get(object);
    if (!entry || entry.stamp !== stamp) {
      // Not cancelled with the request that came first: others, such as that after scrolling, share it.
      entry = { stamp, hints: json(['relo', object, ...kernelArgs().slice(0, 2)], folder).then(core.hints) };
      this.known.set(object, entry);
      entry.hints.catch(() => this.known.delete(object)); // the next one asks again
    }
    const seen = new Set();
    return (await entry.hints.catch(() => []))
      .filter((h) => fileOf(h.file, folder, document.uri.fsPath) === document.uri.fsPath && h.line <= document.lineCount)
      .filter((h) => !seen.has(`${h.line} ${h.text}`) && seen.add(`${h.line} ${h.text}`))
      .map((h) => ({ h, at: new vscode.Position(h.line - 1, document.lineAt(h.line - 1).text.length) }))
      .filter(({ at }) => range.contains(at))
      .map(({ h, at }) => {
        const hint = new vscode.InlayHint(at, `${h.ok ? '' : '⚠ '}${h.text}`);
        hint.paddingLeft = true;
        hint.tooltip = `${h.kernel}\n${h.detail}`;
        return hint;
      });
  }
}

// Tests is the test explorer: scenario files and objects with tests inside, and their runs.
class Tests {
  constructor(context) {
    this.controller = vscode.tests.createTestController('bpfrun', 'bpfrun');
    context.subscriptions.push(this.controller);
    this.controller.resolveHandler = () => this.discover().catch(fail);
    this.controller.refreshHandler = () => this.discover();
    this.controller.createRunProfile('Run', vscode.TestRunProfileKind.Run, (request, token) => this.run(request, token, false), true);
    this.controller.createRunProfile('Debug', vscode.TestRunProfileKind.Debug, (request) => this.debug(request));
    if (vscode.FileCoverage && vscode.TestRunProfileKind.Coverage) {
      const profile = this.controller.createRunProfile('Coverage', vscode.TestRunProfileKind.Coverage, (request, token) => this.run(request, token, true));
      profile.loadDetailedCoverage = async (_run, coverage) => this.details.get(coverage) || [];
    }
    this.details = new WeakMap();
    this.about = new WeakMap(); // items: folder, file, object, run
  }

  async discover() {
    const items = [];
    for (const f of vscode.workspace.workspaceFolders || []) {
      const cwd = f.uri.fsPath;
      const doc = await json(['test', '--list', '.'], cwd);
      for (const t of core.tests(doc)) {
        const uri = vscode.Uri.file(path.resolve(cwd, t.file));
        const item = this.controller.createTestItem(uri.fsPath, t.file, uri);
        this.about.set(item, { cwd, file: t.file, object: t.object });
        for (const r of t.runs) {
          const child = this.controller.createTestItem(`${uri.fsPath}#${r.name}`, r.name, uri);
          child.description = r.prog !== r.name ? r.prog : undefined;
          this.about.set(child, { cwd, file: t.file, object: t.object, run: r });
          item.children.add(child);
        }
        items.push(item);
      }
    }
    this.controller.items.replace(items);
  }

  // chosen returns the files of a request, each with the runs of it that are wanted.
  chosen(request) {
    const files = new Map();
    const left = new Set(request.exclude || []);
    const add = (item) => {
      if (left.has(item)) return;
      if (item.children.size) return item.children.forEach(add);
      const parent = item.parent || item;
      files.set(parent, [...(files.get(parent) || []), ...(item.parent ? [item] : [])]);
    };
    if (request.include) request.include.forEach(add);
    else this.controller.items.forEach(add);
    return files;
  }

  async run(request, token, coverage) {
    const run = this.controller.createTestRun(request);
    try {
      for (const [file, items] of this.chosen(request)) {
        if (token.isCancellationRequested) break;
        await this.runFile(run, file, items, token, coverage);
      }
    } finally {
      run.end();
    }
  }

  async runFile(run, file, items, token, coverage) {
    const { cwd, file: name } = this.about.get(file);
    const all = items.length === file.children.size;
    for (const i of items) run.started(i);
    const trace = coverage && path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'bpfrun-')), 'lcov.info');
    const args = ['test', name, ...(all ? [] : ['--run', core.exactly(items.map((i) => i.label))]), ...kernelArgs(), ...(trace ? ['--cover-out', `lcov=${trace}`] : [])];
    let results;
    try {
      results = core.outcomes(await json(args, cwd, token));
    } catch (err) {
      for (const i of items.length ? items : [file]) run.errored(i, new vscode.TestMessage(err.message));
      return;
    }
    const whole = results.get('');
    for (const i of items) {
      const o = results.get(i.label);
      const failures = [...((o && o.failures) || []), ...((whole && whole.failures) || [])];
      if (failures.length) run.failed(i, failures.map((f) => this.message(f, cwd)));
      else if (o) run.passed(i);
      else run.skipped(i);
    }
    if (trace && fs.existsSync(trace)) this.covered(run, trace, cwd);
  }

  message(failure, cwd) {
    const m = failure.want !== undefined ? vscode.TestMessage.diff(failure.message, failure.want, failure.got) : new vscode.TestMessage(failure.message);
    if (failure.place) {
      const at = new vscode.Position(failure.place.line - 1, Math.max(0, failure.place.column - 1));
      m.location = new vscode.Location(vscode.Uri.file(path.resolve(cwd, failure.place.file)), at);
    }
    return m;
  }

  covered(run, trace, cwd) {
    for (const f of core.lcov(fs.readFileSync(trace, 'utf8'))) {
      const details = f.lines.map((l) => new vscode.StatementCoverage(l.count, new vscode.Position(l.line - 1, 0)));
      const c = vscode.FileCoverage.fromDetails(vscode.Uri.file(path.resolve(cwd, f.file)), details);
      this.details.set(c, details);
      run.addCoverage(c);
    }
    fs.rmSync(path.dirname(trace), { recursive: true });
  }

  // debug starts the debugger at the first run of a request.
  async debug(request) {
    for (const [file, items] of this.chosen(request)) {
      const { cwd, file: name, object } = this.about.get(file);
      const folder = vscode.workspace.getWorkspaceFolder(file.uri);
      const scenario = /\.ya?ml$/.test(name);
      const config = { type: 'bpfrun', request: 'launch', name: items[0] ? items[0].label : name, object: path.resolve(cwd, object || name), stopOnEntry: true };
      if (scenario) Object.assign(config, { scenario: path.resolve(cwd, name), prog: items[0] && items[0].label });
      else config.test = items[0] && items[0].label;
      const [btf] = settings().get('btf') || [];
      if (btf) config.btf = btf;
      await vscode.debug.startDebugging(folder, config);
      return;
    }
  }
}

function activate(context) {
  const diagnostics = new Diagnostics();
  const inlay = new Inlay();
  const tests = new Tests(context);
  const command = (name, run) => vscode.commands.registerCommand(name, (...args) => run(...args).catch(fail));
  const active = (uri) => uri || (vscode.window.activeTextEditor && vscode.window.activeTextEditor.document.uri);
  context.subscriptions.push(
    diagnostics.collection,
    vscode.debug.registerDebugAdapterDescriptorFactory('bpfrun', { createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(executable(), ['dap']) }),
    vscode.languages.registerCodeLensProvider(languages, lenses),
    vscode.languages.registerInlayHintsProvider(languages, inlay),
    command('bpfrun.run', async (uri, program) => {
      const object = await needObject(active(uri));
      const folder = vscode.workspace.getWorkspaceFolder(active(uri));
      const args = ['run', object, ...(program ? ['-p', program] : []), ...kernelArgs()];
      const run = new vscode.ShellExecution(executable(), args);
      await vscode.tasks.executeTask(new vscode.Task({ type: 'bpfrun', program }, folder || vscode.TaskScope.Workspace, program || path.basename(object), 'bpfrun', run));
    }),
    command('bpfrun.debug', async (uri, program) => {
      const object = await needObject(active(uri));
      const [btf] = settings().get('btf') || [];
      const config = { type: 'bpfrun', request: 'launch', name: program || path.basename(object), object, prog: program, stopOnEntry: true, ...(btf ? { btf } : {}) };
      await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(active(uri)), config);
    }),
    command('bpfrun.verify', async (uri, program) => {
      const found = await diagnostics.verify(active(uri), program);
      const what = program || path.basename(active(uri).fsPath);
      vscode.window.setStatusBarMessage(found.length ? `bpfrun: ${what}: ${found.length} refused` : `bpfrun: ${what}: accepted`, 5000);
    }),
    command('bpfrun.refreshTests', () => tests.discover()),
  );
  // What was compiled again has other offsets, verdicts and tests.
  const watcher = vscode.workspace.createFileSystemWatcher('**/*.o');
  const compiled = () => inlay.changed.fire();
  context.subscriptions.push(watcher, watcher.onDidChange(compiled), watcher.onDidCreate(compiled));
  return { diagnostics, inlay, tests, lenses };
}

module.exports = { activate, deactivate() {} };
