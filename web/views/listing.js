// C source and instructions side by side, linked by hover; shared by the views code and step.
import {h} from '../dom.js';

// functions returns those of a program.
export function functions(code, program) { return code.functions.filter(f => f.program === program); }

// chooser is the choice of a program.
export function chooser(session, page) {
  return h('p', {class: 'field'}, h('label', {for: 'program'}, 'Program'), ' ', h('select', {id: 'program', change: e => page.go({program: e.target.value, at: '', why: '', insn: ''})},
    session.programs.map(p => h('option', {value: p.name, selected: p.name === session.program}, p.name))));
}

// ranLine tells how a line is shaded, by the classes of its instructions.
function ranLine(insns, mark) {
  const ran = insns.filter(i => mark(i).includes('ran')).length, dead = insns.filter(i => mark(i).includes('dead')).length;
  if (ran === insns.length) return ['ran', 'ran'];
  if (ran > 0) return ['ran part', 'ran in part'];
  return dead === insns.length ? ['dead', 'cannot run on this kernel'] : ['missed', 'did not run'];
}

// listing shows the code of a program. mark returns the class of an instruction, insn what is written beside it, line the class of a source line
// with these instructions, its word, and what is written beside it. native is native code, nativeName that of its processor.
export function listing(code, program, {mark, insn, line = insns => ranLine(insns, mark), native, nativeName}) {
  const source = [], insns = [], machine = [];
  const links = new Map(); // line, or instruction, to its elements
  const link = (keys, e) => {
    for (const key of keys.filter(Boolean)) {
      if (!links.has(key)) links.set(key, []);
      links.get(key).push(e);
    }
    e.dataset.key = keys.find(Boolean) ?? '';
    e.tabIndex = -1;
    return e;
  };
  const compiled = new Map((native?.insns ?? []).map(n => [n.pc, n]));
  for (const f of functions(code, program)) {
    const lines = new Map();
    insns.push(h('h3', {}, f.name));
    if (native) machine.push(h('h3', {}, f.name));
    for (const i of f.insns) {
      const key = i.source && `${i.source.file}:${i.source.line}`;
      const classes = mark(i);
      if (key) {
        const l = lines.get(key) ?? {...i.source, key, insns: []};
        l.insns.push(i);
        lines.set(key, l);
      }
      insns.push(link([key, `pc ${i.pc}`], h('div', {class: `insn ${classes}`, 'data-pc': i.pc, 'data-line': key}, h('span', {class: 'pc'}, String(i.pc)), h('code', {}, i.text), insn(i))));
      const n = compiled.get(i.pc);
      if (n) machine.push(link([key, `pc ${i.pc}`], nativeRow(n, classes)));
    }
    source.push(h('h3', {}, f.signature || f.name));
    let file, last = 0;
    for (const l of [...lines.values()].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line)) {
      if (l.file !== file) source.push(h('p', {class: 'mute file-name'}, l.file));
      else if (l.line > last + 1) source.push(h('div', {class: 'gap', 'aria-hidden': 'true'}, '⋯'));
      file = l.file;
      last = l.line;
      const [kind, word, note] = line(l.insns);
      source.push(link([l.key], h('div', {class: `line ${kind}`, title: word, 'data-line': l.key}, h('span', {class: 'pc'}, String(l.line)), h('code', {}, ' '.repeat((l.indent ?? 0) / 2) + (l.text || ' ')), note, h('span', {class: 'sr'}, ` (${word})`))));
    }
  }
  if (native) {
    machine.push(h('details', {}, h('summary', {}, `Out of line: ${native.out_of_line.length} instructions, for checks that fail and calls that leave`),
      native.out_of_line.slice(0, 2000).map(l => h('div', {class: 'insn'}, h('span', {class: 'pc'}, l.at.toString(16)), h('code', {}, l.text)))));
  }
  const pane = (name, label, rows) => h('div', {class: name, role: 'group', 'aria-label': label}, h('div', {class: 'wide'}, rows));
  const both = h('div', {class: native ? 'both three' : 'both'}, pane('source', 'C source', source), pane('insns', 'BPF instructions', insns), native && pane('insns native', `${nativeName} code`, machine));
  connect(both, links);
  return both;
}

function nativeRow(n, classes) {
  const note = n.dead ? 'nobody sees the result' : n.inline ? 'the call, in line' : '';
  return h('div', {class: `insn ${classes}`, 'data-native': n.pc}, h('span', {class: 'pc'}, String(n.pc)),
    h('span', {}, note && h('span', {class: 'mute'}, `; ${note}\n`), n.code.length ? h('code', {}, n.code.map(l => l.text).join('\n')) : h('span', {class: 'mute'}, 'no code of its own')));
}

// connect links the rows of the panes: under the pointer, and by the keyboard, with which the arrows go through the rows of a pane.
function connect(both, links) {
  const rowOf = e => e.target.closest?.('[data-key]');
  const light = (row, on) => {
    if (!row?.dataset.key) return;
    const pc = row.dataset.pc ?? row.dataset.native;
    for (const other of links.get(row.dataset.key) ?? []) other.classList.toggle('lit', on);
    for (const other of links.get(`pc ${pc}`) ?? []) other.classList.toggle('pair', on);
  };
  for (const [name, on] of [['mouseover', true], ['mouseout', false], ['focusin', true], ['focusout', false]]) both.addEventListener(name, e => light(rowOf(e), on));
  const show = row => {
    for (const pane of both.children) if (!pane.contains(row)) reveal((links.get(row.dataset.key) ?? []).find(o => pane.contains(o)));
  };
  both.addEventListener('click', e => { const row = rowOf(e); if (row) show(row); });
  for (const pane of both.children) {
    const first = pane.querySelector('[data-key]');
    if (first) first.tabIndex = 0;
    pane.addEventListener('keydown', e => {
      const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity}[e.key];
      const row = rowOf(e);
      if (step === undefined || row !== e.target) return;
      e.preventDefault();
      const rows = [...pane.querySelectorAll('[data-key]')];
      const next = rows[Math.min(rows.length - 1, Math.max(0, rows.indexOf(row) + step))];
      row.tabIndex = -1;
      next.tabIndex = 0;
      next.focus({preventScroll: true});
      reveal(next);
      show(next);
    });
  }
}

// marks returns how instructions of a program are shaded.
export function marks(code, program) {
  const of = list => new Set(Object.hasOwn(list, program) ? list[program] : []); // a program may be called toString
  const ran = of(code.executed), dead = of(code.dead);
  return i => ran.has(i.pc) ? 'ran' : dead.has(i.pc) ? 'dead' : 'missed';
}

// access splits the text of a relocation, "[26] struct task_struct.cred (0:7 @ offset 40)", into what people call it and the name of its type.
export function access(local) {
  const text = local.replace(/^\[\d+\] /, '').replace(/ \([^)]*\)$/, '');
  return {text, type: /^(?:(?:struct|union|enum) )?([A-Za-z_]\w*)/.exec(text)?.[1] ?? text};
}

// reveal scrolls an element to the middle of its pane, and nothing else.
export function reveal(e) {
  const pane = e?.closest('.source, .insns');
  if (!pane) return;
  const at = e.offsetTop;
  if (at < pane.scrollTop + 20 || at > pane.scrollTop + pane.clientHeight - 40) pane.scrollTop = at - pane.clientHeight / 2;
}
