// The verdict of the kernel's verifier on each program, and what a refusal means.
import {add, h, chip, plural} from '../dom.js';

export async function show(session, root, page) {
  const doc = await session.ask({do: 'verify'});
  const count = word => doc.programs.filter(p => p.verdict === word).length;
  add(root, h('h2', {}, `The verifier of ${doc.target?.version ? `Linux ${doc.target.version}` : session.kernel}`),
    h('p', {}, `${plural(doc.programs.length, 'program')}: ${count('accepted')} accepted, ${count('refused')} refused, ${count('unknown')} unknown`));
  if (doc.error) add(root, h('p', {class: 'error'}, doc.error.message));
  for (const p of [...doc.programs].sort((a, b) => (a.verdict === 'accepted') - (b.verdict === 'accepted'))) add(root, program(p, page));
}

function program(p, page) {
  const part = (title, ...what) => h('div', {class: 'part'}, h('h3', {}, title), ...what);
  return h('section', {class: 'card', 'data-program': p.name, 'aria-label': p.name}, h('details', {open: p.verdict !== 'accepted'},
    h('summary', {}, h('strong', {}, p.name), ' ', chip(p.verdict), ' ', h('span', {class: 'mute'}, `${p.section} · ${plural(p.processed_insns, 'instruction')} walked, ${plural(p.total_states, 'state')}`)),
    p.assumes && h('p', {class: 'note'}, `It assumes ${p.assumes}`),
    p.not_loaded && h('p', {class: 'note'}, `It is not loaded: ${p.not_loaded}`),
    p.verdict === 'unknown' && part('Cannot say', h('p', {}, p.reason)),
    p.verdict === 'refused' && [
      p.message && part('The kernel says', h('pre', {}, p.message, p.errno && ` (${p.errno})`)),
      p.reason && part('Why', h('p', {}, p.reason)),
      p.source && part(`At ${p.source.file}:${p.source.line}`, h('pre', {}, p.source.text)),
      p.history?.length && part('How the register got there', h('ol', {class: 'history'}, p.history.map(step))),
      p.registers && part(`Registers at instruction ${p.insn}`, h('pre', {class: 'wrapped'}, p.registers)),
      p.path?.length && part('Branches on the way', h('p', {class: 'path'}, p.path.map(b => h('span', {class: 'branch'}, `${b.insn} ${b.taken ? 'taken' : 'not taken'}`)))),
    ],
    p.verdict === 'accepted' && !p.not_loaded && h('p', {class: 'mute'}, 'This kernel loads it.'),
    h('p', {}, h('button', {click: () => page.go({view: 'code', program: p.name})}, 'Code'))));
}

function step(c) {
  return h('li', {}, h('span', {class: 'key'}, `${c.insn}: `), h('code', {}, c.text), c.source && h('div', {class: 'mute'}, `${c.source.file}:${c.source.line} ${c.source.text}`), c.state && h('div', {class: 'mute'}, `${c.what} is then ${c.state}`));
}
