// What the extension knows without VS Code: sources with SEC(), and the JSON documents of bpfrun (docs/json.md).
'use strict';

const path = require('path');

// notPrograms are sections that hold no program.
const notPrograms = /^(\.|license$|version$)/;

// programs returns the programs of a source by their SEC(): line (from 0), section and name.
function programs(text) {
  const lines = text.split('\n');
  const out = [];
  for (let i = 0; i < lines.length; i++) {
    const sec = /^\s*SEC\("([^"]+)"\)/.exec(lines[i]);
    if (!sec || notPrograms.test(sec[1])) continue;
    // The definition follows, on the same line or one of the next: int NAME(, or int BPF_PROG(NAME, ...
    const after = lines.slice(i, i + 5).join('\n').slice(lines[i].indexOf(sec[0]) + sec[0].length);
    const def = /^[^;{=]*?\b([A-Za-z_]\w*)\s*\(\s*([A-Za-z_]\w*)?/.exec(after.replace(/__attribute__\s*\(\([^)]*\)\)/g, '').replace(/__\w+/g, ''));
    if (!def) continue;
    const macro = /^(BPF_[A-Z0-9_]+)$/.test(def[1]);
    const name = macro ? def[2] : def[1];
    if (name) out.push({ line: i, section: sec[1], name });
  }
  return out;
}

// objectNames are the names that the object of a source may have, the likely ones first.
function objectNames(source) {
  const base = path.basename(source).replace(/\.[^.]*$/, '');
  const plain = base.replace(/\.bpf$/, '');
  return [...new Set([base + '.o', plain + '.bpf.o', plain + '.o'])];
}

// documents are those of one kernel and file each.
function documents(doc) {
  return doc.results && doc.results.length ? doc.results : [doc];
}

// tests returns the files of `bpfrun test --list --json`.
function tests(doc) {
  return (doc.files || []).map((f) => ({ file: f.file, object: f.object, runs: (f.runs || []).map((r) => ({ name: r.name, prog: r.prog })) }));
}

// place splits FILE:LINE:COLUMN.
function place(text) {
  const m = /^(.*?):(\d+)(?::(\d+))?$/.exec(text || '');
  return m ? { file: m[1], line: Number(m[2]), column: Number(m[3] || 1) } : undefined;
}

// outcomes returns what became of each run of `bpfrun test --json`, by its name: failures of all kernels. Runs that are not in it were
// skipped. What a file as a whole cannot do is under ''.
function outcomes(doc) {
  const out = new Map();
  const of = (name) => out.get(name) || out.set(name, { failures: [], insns: 0 }).get(name);
  for (const d of documents(doc)) {
    const on = d.target ? ' (' + d.target.name + ')' : '';
    if (d.error) of('').failures.push({ message: d.error.message + on });
    for (const p of d.programs || []) {
      for (const r of p.runs || []) {
        const o = of(r.name || p.name);
        o.insns += r.insns || 0;
        let faultWanted = false;
        for (const e of r.expectations || []) {
          faultWanted = faultWanted || (e.what === 'fault' && e.ok);
          if (!e.ok) o.failures.push({ message: `${e.what}: want ${e.want}, got ${e.got}${on}`, want: e.want, got: e.got, place: place(e.place) });
        }
        if (r.fault && !faultWanted) o.failures.push({ message: (r.fault.message || r.fault.text || r.fault.kind || 'fault') + on, place: r.fault.source && place(r.fault.source.file ? r.fault.source.file + ':' + r.fault.source.line : r.fault.source) });
        for (const f of r.failures || []) o.failures.push({ message: f + on });
      }
    }
  }
  return out;
}

// verdicts returns the refusals of `bpfrun verify --json` with where they are and how the value came about.
function verdicts(doc) {
  const out = [];
  for (const d of documents(doc)) {
    for (const p of d.programs || []) {
      if (p.verdict !== 'refused' || !p.source) continue;
      const lines = [`${p.name}: ${p.message}`];
      if (p.reason) lines.push(p.reason);
      if (p.mend && p.mend.text) lines.push(p.mend.text);
      out.push({
        program: p.name, kernel: d.target && d.target.name, file: p.source.file, line: p.source.line, message: lines.join('\n'),
        related: (p.history || []).filter((h) => h.source).map((h) => ({ file: h.source.file, line: h.source.line, text: h.state ? `${h.what} is ${h.state}` : h.text })),
        changes: ((p.mend && p.mend.loads && p.mend.changes) || []).filter((c) => c.where === 'after' && c.code),
      });
    }
  }
  return out;
}

// hints returns what CO-RE relocations of `bpfrun relo --json` became, once for each line and kernel: "task_struct.pid @ 2432".
function hints(doc) {
  const out = new Map();
  for (const d of documents(doc)) {
    for (const p of d.programs || []) {
      for (const r of p.relocations || []) {
        const at = place(r.source);
        if (!at) continue;
        const field = /(?:struct|union) (\S+) \(.*@ offset (\d+)\)/.exec(r.target || '');
        const wanted = /(?:struct|union|enum|typedef) ([^ ]+)/.exec(r.local || '');
        const name = field ? field[1] : wanted ? wanted[1] : r.kind;
        let text;
        if (r.result !== 'ok') text = `${name}: not on this kernel`;
        else if (field && r.kind === 'byte_off') text = `${name} @ ${field[2]}`;
        else text = `${name} ${r.kind} = ${r.new}`;
        const kernel = d.target ? d.target.name : '';
        const key = [at.file, at.line, kernel, text].join('\0');
        if (!out.has(key)) out.set(key, { file: at.file, line: at.line, column: at.column, text, kernel, ok: r.result === 'ok', detail: `${r.local}\n${r.target || 'no such field'}\n${r.old} → ${r.new}` });
      }
    }
  }
  return [...out.values()];
}

// lcov returns the lines of an LCOV tracefile by source file.
function lcov(text) {
  const out = [];
  let file;
  for (const line of text.split('\n')) {
    if (line.startsWith('SF:')) out.push((file = { file: line.slice(3), lines: [] }));
    const da = /^DA:(\d+),(\d+)/.exec(line);
    if (da && file) file.lines.push({ line: Number(da[1]), count: Number(da[2]) });
  }
  return out;
}

// quoted is a regular expression of Go that matches exactly the names.
function exactly(names) {
  return '^(' + names.map((n) => n.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')).join('|') + ')$';
}

// sameFile reports whether a path that the compiler recorded may be that of a file: one is the end of the other.
function sameFile(recorded, file) {
  const a = recorded.split(/[\\/]/).filter((p) => p && p !== '.');
  const b = file.split(/[\\/]/).filter(Boolean);
  while (a[0] === '..') a.shift();
  return a.length > 0 && a.every((p, i) => b[b.length - a.length + i] === p);
}

module.exports = { programs, objectNames, documents, tests, outcomes, verdicts, hints, lcov, exactly, sameFile, place };
