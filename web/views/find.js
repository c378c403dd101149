// Searches: inputs with which programs do what is wrong (fuzz), and orders of programs that run at the same time (race). Their budgets are
// numbers, so that a link finds the same again. Without one, budgets grow until something is found, or for some seconds.
import {add, h, chip, fold, plural, table} from '../dom.js';
import {keys, lanes} from '../schedule.js';
import {chooser} from './listing.js';

const first = {fuzz: 2000, race: 500}, most = {fuzz: 200_000, race: 100_000};
const patience = 3000; // ms after which no larger budget is tried

// search asks with the budget of the page, or with growing ones. An answer to a larger budget begins with that to the smaller one, so the last one
// is kept, and its budget becomes part of the link.
async function search(what, session, page) {
  const ask = runs => session.ask({do: what, program: session.state.program ?? '', runs}, Math.max(session.limit, 60_000));
  if (Number(session.state.runs) > 0) return ask(Number(session.state.runs));
  const began = performance.now();
  for (let runs = first[what]; ; runs = Math.min(4 * runs, most[what])) {
    page.say(what === 'fuzz' ? `Trying ${runs} inputs…` : `Following ${runs} orders…`);
    const doc = await ask(runs);
    if (!page.current()) return doc;
    const found = doc.findings.some(f => !f.benign);
    if (found || doc.complete || runs === most[what] || performance.now() - began > patience) {
      session.set({runs: String(runs)});
      return doc;
    }
  }
}

export async function show(session, root, page) {
  const what = session.state.find;
  const runs = h('input', {id: 'runs', type: 'number', min: 1, max: most[what] ?? most.race, value: session.state.runs, placeholder: 'a few seconds'});
  const all = h('option', {value: '', selected: !session.state.program}, 'all programs');
  const choice = chooser(session, {go: change => page.go({...change, find: ''})});
  choice.querySelector('select').prepend(all);
  if (!session.state.program) choice.querySelector('select').value = '';
  const begin = kind => page.go({find: kind, runs: kind === what || runs.value !== session.state.runs ? runs.value : ''}); // the other search has a budget of its own
  add(root, h('h2', {}, 'Search for what is wrong'), choice,
    h('form', {class: 'editor', submit: e => e.preventDefault()}, h('label', {for: 'runs'}, 'Budget'), ' ', runs, ' ',
      h('button', {type: 'button', id: 'fuzz', 'aria-pressed': String(what === 'fuzz'), click: () => begin('fuzz')}, 'Try inputs (fuzz)'), ' ',
      h('button', {type: 'button', id: 'race', 'aria-pressed': String(what === 'race'), click: () => begin('race')}, 'Run programs at the same time (race)')),
    h('p', {class: 'mute'}, 'Inputs are packets, contexts, arguments, maps, results of helpers and time. Orders are of accesses to what programs share. Without a budget the search ends at its first finding, or after some seconds. The interpreter runs both: the command searches further in the same time.'));
  if (!Object.hasOwn(first, what ?? '')) return;
  const doc = await search(what, session, page);
  runs.value = session.state.runs;
  if (what === 'fuzz') fuzzed(doc, root, page);
  else raced(doc, root);
}

function fuzzed(doc, root, page) {
  add(root, h('h3', {}, `${plural(doc.findings.length, 'finding')} in ${plural(doc.runs, 'input')}`));
  doc.findings.forEach((f, i) => add(root, h('section', {class: 'card', 'aria-label': `${f.kind} in ${f.program}`}, h('p', {}, chip(f.kind, 'bad'), ' ', h('strong', {}, f.program), ` ${f.message}`),
    f.source && h('p', {}, h('code', {}, f.source)), h('p', {class: 'mute'}, `after ${plural(f.after_runs, 'input')}`),
    doc.scenarios[i] && fold('The input, as a scenario for bpfrun test', false, h('pre', {}, doc.scenarios[i])),
    h('p', {}, h('button', {click: () => page.go({view: 'code', program: f.program})}, 'Code')))));
  if (!doc.findings.length) add(root, h('p', {class: 'good'}, 'Nothing that is wrong whatever the program is meant to do.'));
  if (doc.unconfirmed) add(root, h('p', {class: 'note'}, `${plural(doc.unconfirmed, 'finding')} did not happen again and is left out.`));
  const covered = p => h('span', {}, h('meter', {min: 0, max: Math.max(p.branches.reachable, 1), value: p.branches.reached, 'aria-label': `branches of ${p.name}`}), ` ${p.branches.reached} of ${p.branches.reachable}`);
  add(root, table('How far it got: sides of branches', ['program', 'inputs', 'reached', 'by the usual input'], doc.programs.map(p => [h('code', {}, p.name), String(p.runs), covered(p), String(p.branches.default)])));
  for (const p of doc.programs.filter(p => p.unreached.length)) {
    add(root, fold(`${plural(p.unreached.length, 'side')} of ${p.name} not reached`, false, h('ul', {}, p.unreached.map(u => h('li', {}, h('code', {}, u.source), u.needs && ` needs ${u.needs}`)))));
  }
  for (const x of doc.skipped) add(root, h('p', {class: 'note'}, `${x.run} is not searched: ${x.why}`));
  for (const n of doc.notes) add(root, h('p', {class: 'mute'}, n));
}

function raced(doc, root) {
  const bad = doc.findings.filter(f => !f.benign);
  add(root, h('h3', {}, `${plural(bad.length, 'finding')} in ${plural(doc.orders, 'order')} of ${plural(doc.races.length, 'race')}`));
  for (const f of doc.findings) {
    add(root, h('section', {class: 'card', 'aria-label': `${f.kind} in ${f.race}`}, h('p', {}, chip(f.kind, f.benign ? 'dim' : 'bad'), ' ', h('strong', {}, f.race), ` ${f.message}`, f.benign && h('span', {class: 'mute'}, ' (benign)')),
      f.sides.length > 0 && h('ul', {}, f.sides.map(x => h('li', {}, h('span', {class: 'key'}, `${x.actor} on CPU ${x.cpu}: `), x.what, x.line && h('code', {}, ` ${x.line.trim()}`), x.source && h('span', {class: 'mute'}, ` ${x.source}`)))),
      f.order.length > 0 && turns(f), f.outcome.length > 0 && table('The outcome', ['what', 'in this order', 'one after the other'], f.outcome.map(d => [d.what, h('code', {}, d.here), h('code', {}, d.sequential.join(' or '))])),
      f.advice.length > 0 && h('ul', {class: 'advice'}, f.advice.map(a => h('li', {}, a)))));
  }
  if (!doc.findings.length) add(root, h('p', {class: doc.complete ? 'good' : ''}, doc.complete ? `No order with at most ${plural(doc.preemptions, 'preemption')} has a wrong outcome.` : 'None of the orders that were followed has a wrong outcome.'));
  if (doc.races.length) add(root, table('Races', ['race', 'orders', 'all within the bound', 'findings'], doc.races.map(r => [h('code', {}, r.name), String(r.orders), r.complete ? 'yes' : 'no', String(r.findings)])));
  else add(root, h('p', {class: 'note'}, 'No programs share a map or a variable that one of them writes.'));
  for (const l of doc.left_out) add(root, h('p', {class: 'note'}, `${l.program} takes no part: ${l.status}`));
}

// turns draws an order: a row for each actor, in which its turns follow each other.
function turns(f) {
  const actors = [...new Set(f.order.map(t => t.actor))], rows = actors.map(name => ({name, spans: []}));
  let at = 0;
  for (const t of f.order) {
    rows[actors.indexOf(t.actor)].spans.push({from: at, to: at + t.insns, what: t.actor, title: `${t.actor}: ${plural(t.insns, 'instruction')}`});
    at += t.insns;
  }
  if (at === 0) return null;
  return h('div', {}, h('h3', {}, 'The order, in instructions'), keys(actors), lanes(`The order: ${f.order.map(t => `${t.actor} ${plural(t.insns, 'instruction')}`).join(', ')}`, rows, at, actors, 'count', n => String(Math.round(n))));
}
