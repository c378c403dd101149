// The object on all kernels as a heat map, and the layout of a struct on them as a drawing.
import {add, h, chip, kindOf, plural} from '../dom.js';
import {draw, short} from '../layout.js';
import {access} from './listing.js';

export async function show(session, root, page) {
  const names = session.kernelNames();
  add(root, h('h2', {}, 'All kernels'));
  const m = await session.ask({do: 'matrix', kernels: names});
  const detail = h('p', {class: 'mute', id: 'detail', 'aria-live': 'polite'}, 'Choose a cell to see what it means.');
  const cell = (r, c) => h('td', {}, h('button', {class: `cell ${kindOf(c.word)}`, click: () => {
    detail.replaceChildren(h('strong', {}, `${r.program} on ${c.target}: `), chip(c.word), ' ', explain(c));
  }}, c.word));
  add(root, h('div', {class: 'wrap'}, h('table', {class: 'matrix'},
    h('caption', {}, `compared with ${m.base}`),
    h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'program'), m.targets.map(t => h('th', {scope: 'col'}, short(t))))),
    h('tbody', {}, m.rows.map(r => h('tr', {}, h('th', {scope: 'row'}, r.program), r.cells.map(c => cell(r, c))))))), detail);
  for (const k of m.kernels ?? []) if (k.error) add(root, h('p', {class: 'error'}, `${k.name ?? ''}: ${k.error}`));

  const type = session.state.type || suggested(session) || 'task_struct';
  const input = h('input', {id: 'type', type: 'text', value: type, spellcheck: 'false', autocomplete: 'off'});
  const place = h('div', {});
  add(root, h('h2', {}, 'Layout of a struct'), h('form', {submit: e => { e.preventDefault(); page.go({type: input.value.trim()}); }}, h('label', {for: 'type'}, 'Type'), ' ', input, ' ', h('button', {}, 'Show')), place);
  try {
    draw(await session.ask({do: 'layout', type, kernels: names}), place);
  } catch (e) {
    if (e.kind === 'time') throw e;
    add(place, h('p', {class: 'error'}, e.message));
  }
}

function explain(c) {
  const r = c.relocations;
  const moved = r.changed ? `${plural(r.changed, 'relocation')} changed` : '';
  return [c.detail, moved].filter(Boolean).join('; ') || 'the same as on the base kernel';
}

// suggested is the type that the object's programs read most, as far as is known.
function suggested(session) {
  for (const [key, doc] of session.answers) {
    if (!key.includes('"do":"code"')) continue;
    const r = doc.functions.flatMap(f => f.insns).find(i => i.relocation)?.relocation;
    if (r) return access(r.local).type;
  }
  return '';
}
