// The verdict of the kernel's verifier on each program, what a refusal means and mends it, and what the verification of a program costs.
import {add, h, chip, fold, plural, table} from '../dom.js';
import {chooser, functions, listing} from './listing.js';

export async function show(session, root, page) {
  const doc = await session.ask({do: 'verify'});
  const count = word => doc.programs.filter(p => p.verdict === word).length;
  add(root, h('h2', {}, `The verifier of ${doc.target?.version ? `Linux ${doc.target.version}` : session.kernel}`),
    h('p', {}, `${plural(doc.programs.length, 'program')}: ${count('accepted')} accepted, ${count('refused')} refused, ${count('unknown')} unknown`));
  if (doc.error) add(root, h('p', {class: 'error'}, doc.error.message));
  const chosen = doc.programs.find(p => p.name === session.state.program);
  if (chosen) {
    add(root, program(chosen, page));
    await costs(session, root, page);
    if (doc.programs.length > 1) add(root, h('h2', {}, 'The other programs'));
  }
  for (const p of [...doc.programs].sort((a, b) => (a.verdict === 'accepted') - (b.verdict === 'accepted'))) if (p !== chosen) add(root, program(p, page));
}

// costs shows how often each instruction and line of a program was processed, with states that were kept and paths that ended there.
async function costs(session, root, page) {
  const place = h('section', {id: 'costs', 'aria-label': 'What the verification costs'}, h('h2', {}, 'What the verification costs'), chooser(session, page));
  add(root, place);
  let c;
  try {
    c = await session.ask({do: 'costs', program: session.program});
  } catch (e) {
    if (e.kind === 'time') throw e;
    return add(place, h('p', {class: 'note'}, e.message));
  }
  const code = await session.ask({do: 'code'});
  const of = new Map(c.insns.map(i => [i.pc, i])), most = Math.max(...c.insns.map(i => i.processed), 1);
  const level = n => n === 0 ? 'missed' : `heat${most === 1 ? 0 : Math.round(7 * Math.log2(n) / Math.log2(most))}`;
  const note = (n, states, pruned) => n === 0 ? null : h('span', {class: 'cost'}, ` ${n}×`, states > 0 && ` · ${plural(states, 'state')}`, pruned > 0 && ` · ${pruned} pruned`);
  const sum = (insns, key) => insns.reduce((n, i) => n + (of.get(i.pc)?.[key] ?? 0), 0);
  add(place, h('p', {}, `${plural(c.profile.insns, 'instruction')} processed, ${plural(c.profile.states, 'state')} kept. `, h('span', {class: 'legend'}, Array.from({length: 8}, (_, i) => h('span', {class: `heat${i}`}, i === 0 ? 'once' : i === 7 ? `${most}×` : '\u00a0')))),
    c.profile.advice.length > 0 && h('ul', {class: 'advice'}, c.profile.advice.map(a => h('li', {}, a.text))));
  if (functions(code, session.program).length) {
    add(place, listing(code, session.program, {
      mark: i => level(of.get(i.pc)?.processed ?? 0), insn: i => { const x = of.get(i.pc); return x ? note(x.processed, x.states, x.pruned) : null; },
      line: insns => { const n = Math.max(...insns.map(i => of.get(i.pc)?.processed ?? 0)); return [level(n), n ? `processed ${n} times` : 'never processed', note(n, sum(insns, 'states'), sum(insns, 'pruned'))]; },
    }));
  }
  const at = p => p.line ? `${p.file}:${p.line}` : `${p.func} ${p.insn}`;
  add(place, c.profile.loops.length > 0 && table('Loops', ['where', 'kind', 'turns', 'processed', 'new in each turn'], c.profile.loops.map(l => [at(l), l.kind, String(l.turns), String(l.processed), l.differs ?? ''])),
    c.profile.apart.length > 0 && table('What kept states apart', ['where', 'place', 'alone', 'kept', 'now'], c.profile.apart.map(a => [at(a.at), a.variable ? `${a.place} (${a.variable})` : a.place, String(a.alone), h('code', {}, a.kept), h('code', {}, a.now)])),
    c.no_path ? h('p', {class: 'mute'}, c.no_path) : fold('The last path, with the registers at each instruction', false, c.left > 0 && h('p', {class: 'mute'}, `${plural(c.left, 'instruction')} before these are left out.`),
      table(null, ['instruction', '', 'registers before', 'registers after'], c.path.slice(-400).map(p => [String(p.insn), h('code', {}, p.text), h('code', {}, p.before ?? ''), h('code', {}, p.after ?? '')]))));
}

// mend shows changes with which the program loads, or gets further: they were verified.
function mend(m) {
  return h('div', {class: 'part mend'}, h('h3', {}, m.loads ? 'With this change it loads' : 'This change gets it further'), h('p', {}, m.text),
    m.changes.filter(c => c.code).map(c => h('pre', {}, `${c.file ? `${c.file}:${c.line} (${c.where})\n` : ''}+ ${c.code}`)), h('p', {class: 'mute'}, 'It was made to the instructions and verified before it is shown.'));
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
      p.mend && mend(p.mend),
      p.source && part(`At ${p.source.file}:${p.source.line}`, h('pre', {}, p.source.text)),
      p.history?.length && part('How the register got there', h('ol', {class: 'history'}, p.history.map(step))),
      p.registers && part(`Registers at instruction ${p.insn}`, h('pre', {class: 'wrapped'}, p.registers)),
      p.path?.length && part('Branches on the way', h('p', {class: 'path'}, p.path.map(b => h('span', {class: 'branch'}, `${b.insn} ${b.taken ? 'taken' : 'not taken'}`)))),
    ],
    p.verdict === 'accepted' && !p.not_loaded && h('p', {class: 'mute'}, 'This kernel loads it.'),
    h('p', {}, h('button', {click: () => page.go({view: 'code', program: p.name})}, 'Code'), ' ', h('button', {click: () => page.go({program: p.name})}, 'What it costs'))));
}

function step(c) {
  return h('li', {}, h('span', {class: 'key'}, `${c.insn}: `), h('code', {}, c.text), c.source && h('div', {class: 'mute'}, `${c.source.file}:${c.source.line} ${c.source.text}`), c.state && h('div', {class: 'mute'}, `${c.what} is then ${c.state}`));
}
