// What each program did, as the command prints it, foldable.
import {add, h, chip, fold, table, tree, number, plural, bytesText} from '../dom.js';
import {schedule, traffic} from '../schedule.js';

export async function show(session, root, page) {
  const doc = await session.ask({do: 'run'});
  add(root, h('h2', {}, `${doc.object} on ${doc.target?.name ?? session.kernel}`));
  if (doc.error) add(root, h('p', {class: 'error'}, doc.error.message));
  for (const w of doc.warnings ?? []) add(root, h('p', {class: 'note'}, w));
  for (const p of doc.programs) add(root, program(p, doc.programs.length, page));
  // What programs did together comes before what is left of it.
  if (doc.schedules?.length) add(root, h('h2', {}, 'Schedules'), doc.schedules.map(schedule));
  if (doc.traffic?.length) add(root, h('h2', {}, 'Traffic'), doc.traffic.map(traffic));
  const maps = Object.entries(doc.maps ?? {});
  if (maps.length) add(root, h('h2', {}, 'Maps after the runs'), maps.map(([name, m]) => map(name, m)));
  const globals = Object.entries(doc.globals ?? {});
  if (globals.length) add(root, h('h2', {}, 'Global variables'), table(null, ['name', 'section', 'value'],
    globals.map(([name, g]) => [h('code', {}, name), g.section, h('code', {}, g.typed === undefined ? g.bytes : brief(g.typed))])));
  for (const [title, list] of [['Sockets', doc.sockets], ['HID devices', doc.hid]]) {
    if (list?.length) add(root, h('h2', {}, title), list.map(x => tree(x)));
  }
}

function program(p, count, page) {
  const verdict = p.runs.map(r => r.verdict || (r.fault ? '' : r.ret)).filter(Boolean).join(', ');
  const body = [
    p.error && h('p', {class: 'error'}, p.error.message),
    p.verifier?.verdict === 'refused' && h('p', {class: 'error'}, `The verifier refuses it: ${p.verifier.message || p.verifier.reason} `, h('button', {click: () => page.go({view: 'verify', program: p.name})}, 'Why?')),
    p.poisoned?.map(x => h('p', {class: x.verdict === 'BREAK' ? 'error' : 'note'}, chip(x.verdict), ` instruction ${x.insn} reads ${x.access}, which this kernel lacks. ${x.hint ?? ''}`)),
    p.runs.map(run),
    p.runs.length > 0 && h('p', {}, h('button', {click: () => page.go({view: 'step', program: p.name, at: 0})}, 'Step through it'), ' ',
      h('button', {click: () => page.go({view: 'code', program: p.name})}, 'Code')),
  ];
  const head = [h('strong', {}, p.name), ' ', chip(p.status), ' ', h('span', {class: 'verdict'}, verdict), ' ', h('span', {class: 'mute'}, `${p.section} · ${plural(p.insns, 'instruction')}`, coverage(p.coverage))];
  return h('section', {class: 'card', 'data-program': p.name, 'aria-label': p.name},
    body.flat().some(Boolean) ? h('details', {open: count < 9 || p.status !== 'ok'}, h('summary', {}, head), body) : h('div', {}, head)); // part of a simulation, which is shown as a whole
}

function coverage(c) {
  if (!c?.reachable) return null;
  return h('span', {}, ' · ', h('meter', {min: 0, max: c.reachable, value: c.executed, title: `${c.executed} of ${c.reachable} instructions ran`}), ` ${Math.round(100 * c.executed / c.reachable)} % ran`);
}

function run(r) {
  const list = (title, items, write) => items?.length ? [h('h3', {}, title), h('ul', {}, items.map(x => h('li', {}, write(x))))] : null;
  return h('div', {class: 'run'},
    r.function && h('h3', {}, r.function),
    h('p', {}, h('span', {class: 'key'}, 'returned '), h('code', {}, r.ret), r.verdict && [' ', h('strong', {}, r.verdict)], h('span', {class: 'mute'}, ` after ${plural(r.insns, 'instruction')} on CPU ${r.cpu}`)),
    r.reached && h('p', {class: 'note'}, h('span', {class: 'key'}, 'reached by '), r.reached.by.join('; '), h('span', {class: 'mute'}, ` (${r.reached.plain.executed} of ${r.reached.plain.reachable} instructions without)`)),
    r.fault && h('p', {class: 'error'}, chip('fault'), ` ${r.fault.text}`, r.fault.source && h('code', {}, ` ${r.fault.source}`)),
    list('Findings', r.findings, f => `${f.kind}: ${f.message}${f.source ? ` (${f.source})` : ''}`),
    list('Warnings', r.warnings, w => w),
    list('Trace', r.trace, t => h('code', {}, t)),
    r.events.length > 0 && [h('h3', {}, plural(r.events.length, 'event')), r.events.slice(0, 50).map(e => h('div', {class: 'event'}, h('span', {class: 'key'}, `${e.map} (${e.kind}) `), e.typed ? tree(e.typed) : h('code', {}, e.text)))],
    r.output && [h('h3', {}, 'Output'), h('pre', {}, r.output)],
    list('Effects', r.effects, e => [h('span', {class: 'key'}, `${e.kind} `), `${e.value}${e.detail ? ` (${e.detail})` : ''}`]),
    list('Map changes', r.map_changes, c => [h('span', {class: 'key'}, `${c.map} `), h('code', {}, c.text)]),
    list('Packet changes', r.packet_changes, c => h('code', {}, c)),
    r.data_out && fold('Packet after the run', false, h('pre', {}, bytesText(r.data_out))),
    list('Why it got no further', r.why_not, w => h('code', {}, w)),
    Object.keys(r.helpers).length > 0 && h('p', {class: 'mute'}, 'called ', Object.entries(r.helpers).map(([n, c]) => c > 1 ? `${n} ×${c}` : n).join(', ')),
    r.kernel_reads.length > 0 && fold(`${plural(r.kernel_reads.length, 'read')} of kernel memory`, false, accesses(r.kernel_reads)),
    r.kernel_writes.length > 0 && fold(`${plural(r.kernel_writes.length, 'write')} to kernel memory`, false, accesses(r.kernel_writes)));
}

function accesses(list) {
  return table(null, ['instruction', 'type', 'field', 'offset by'], list.slice(0, 200).map(a => [String(a.insn), a.type, h('code', {}, a.path), a.relocated ? 'CO-RE' : '']));
}

// brief writes a value in one line.
function brief(value) { return value !== null && typeof value === 'object' ? JSON.stringify(value) : number(value); }

function map(name, m) {
  const rows = m.entries.slice(0, 100).map(e => {
    const typed = e.typed ?? {key: e.key, value: e.value ?? e.percpu};
    return [h('code', {}, brief(typed.key)), typed.value !== null && typeof typed.value === 'object' ? tree(typed.value) : h('code', {}, number(typed.value))];
  });
  const buffer = m.type === 'ringbuf' || m.type === 'user_ringbuf'; // its size is in bytes, and its records are with the programs
  return fold([h('strong', {}, name), ' ', h('span', {class: 'mute'}, buffer ? `${m.type} of ${m.max_entries} bytes` : `${m.type} · ${plural(m.entries.length, 'element')} of at most ${m.max_entries}`)], m.entries.length > 0 && m.entries.length < 20,
    m.left_out && h('p', {class: 'note'}, m.left_out), rows.length > 0 ? table(null, ['key', 'value'], rows) : h('p', {class: 'mute'}, buffer ? 'Records are shown with the program that sent them.' : 'empty'));
}
