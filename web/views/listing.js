// C source and instructions side by side, linked by hover; shared by the views code and step.
import {h} from '../dom.js';

// functions returns those of a program.
export function functions(code, program) { return code.functions.filter(f => f.program === program); }

// chooser is the choice of a program.
export function chooser(session, page) {
  return h('p', {class: 'field'}, h('label', {for: 'program'}, 'Program'), ' ', h('select', {id: 'program', change: e => page.go({program: e.target.value, at: ''})},
    session.programs.map(p => h('option', {value: p.name, selected: p.name === session.program}, p.name))));
}

// listing shows the code of a program. mark returns the class of an instruction.
export function listing(code, program, {mark, insn}) {
  const source = [], insns = [];
  const links = new Map(); // line to its elements
  const link = (key, e) => {
    if (!key) return e;
    e.dataset.line = key;
    if (!links.has(key)) links.set(key, []);
    links.get(key).push(e);
    return e;
  };
  for (const f of functions(code, program)) {
    const lines = new Map();
    insns.push(h('h3', {}, f.name));
    for (const i of f.insns) {
      const key = i.source && `${i.source.file}:${i.source.line}`;
      const classes = mark(i);
      if (key) {
        const l = lines.get(key) ?? {...i.source, key, count: 0, ran: 0, dead: 0};
        l.count++;
        if (classes.includes('ran')) l.ran++;
        if (classes.includes('dead')) l.dead++;
        lines.set(key, l);
      }
      insns.push(link(key, h('div', {class: `insn ${classes}`, 'data-pc': i.pc}, h('span', {class: 'pc'}, String(i.pc)), h('code', {}, i.text), insn(i))));
    }
    source.push(h('h3', {}, f.signature || f.name));
    let file, last = 0;
    for (const l of [...lines.values()].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line)) {
      if (l.file !== file) source.push(h('p', {class: 'mute file-name'}, l.file));
      else if (l.line > last + 1) source.push(h('div', {class: 'gap', 'aria-hidden': 'true'}, '⋯'));
      file = l.file;
      last = l.line;
      const ran = l.ran > 0 ? (l.ran < l.count ? 'ran part' : 'ran') : l.dead === l.count ? 'dead' : 'missed';
      const word = {ran: 'ran', 'ran part': 'ran in part', dead: 'cannot run on this kernel', missed: 'did not run'}[ran];
      source.push(link(l.key, h('div', {class: `line ${ran}`, title: word}, h('span', {class: 'pc'}, String(l.line)), h('code', {}, ' '.repeat((l.indent ?? 0) / 2) + (l.text || ' ')), h('span', {class: 'sr'}, ` (${word})`))));
    }
  }
  const both = h('div', {class: 'both'}, h('div', {class: 'source', role: 'group', 'aria-label': 'C source'}, h('div', {class: 'wide'}, source)), h('div', {class: 'insns', role: 'group', 'aria-label': 'BPF instructions'}, insns));
  const light = (e, on) => { for (const other of links.get(e.target.closest('[data-line]')?.dataset.line) ?? []) other.classList.toggle('lit', on); };
  both.addEventListener('mouseover', e => light(e, true));
  both.addEventListener('mouseout', e => light(e, false));
  both.addEventListener('click', e => {
    const key = e.target.closest('[data-line]')?.dataset.line;
    const inSource = e.target.closest('.source');
    reveal(links.get(key)?.find(o => Boolean(o.closest('.source')) !== Boolean(inSource)));
  });
  return both;
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
