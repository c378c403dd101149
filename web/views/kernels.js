// The object on all kernels as a heat map, and the layout of a struct on them as a drawing.
import {add, h, s, chip, kindOf, plural} from '../dom.js';
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

function short(name) { return name.replace(/^linux-/, '').replace(/-amd64|-cloud/g, x => ` ${x.slice(1)}`); }

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

const bar = 34;

// how tells what becomes of a member on the kernels.
function how(m) {
  if (!m.changed) return 'same';
  return m.places.some(p => !p || p.type !== m.places[0]?.type) ? 'other' : 'moved';
}

// draw draws the members of the type on each kernel to scale, with what moved marked, and lists them.
function draw(l, place) {
  const width = Math.max(300, Math.min(document.documentElement.clientWidth, 1600) - 40);
  const most = Math.max(...l.kernels.map(k => k.size), 1);
  const svg = s('svg', {viewBox: `0 0 ${width} ${l.kernels.length * (bar + 24)}`, class: 'layout', role: 'img', 'aria-label': `The members of ${l.type} on ${plural(l.kernels.length, 'kernel')}, to scale; the table below has the same in numbers`});
  l.kernels.forEach((k, row) => {
    const y = row * (bar + 24) + 18;
    const label = s('text', {x: 0, y: y - 5, class: 'label'}, `${short(k.name)}: ${k.size} bytes`);
    svg.append(label, s('rect', {x: 0, y, width: width * k.size / most, height: bar, class: 'hole'}));
    for (const m of l.members) {
      const p = m.places[row];
      if (!p) continue;
      const r = s('rect', {x: width * p.offset / most, y, width: Math.max(0.5, width * Math.max(p.size, 0) / most), height: bar, class: `member ${how(m)}`, 'data-member': m.name});
      r.append(s('title', {}, `${p.type} at ${p.offset}, ${p.size} bytes`));
      svg.append(r);
    }
  });
  svg.addEventListener('mouseover', e => {
    for (const r of svg.querySelectorAll('.member')) r.classList.toggle('lit', r.dataset.member === e.target.dataset.member && r.dataset.member !== '');
  });
  const moved = l.members.filter(m => m.changed).length;
  const only = h('input', {type: 'checkbox', id: 'only-moved', change: e => body.classList.toggle('only-moved', e.target.checked)});
  const body = h('tbody', {}, l.members.map(m => h('tr', {class: how(m)},
    h('th', {scope: 'row'}, h('code', {}, m.places.find(Boolean)?.type ?? m.name)),
    m.places.map(p => h('td', {}, p ? `${p.offset}${p.bit_size ? `:${p.bit_offset} (${p.bit_size} bits)` : ` (${p.size})`}` : h('span', {class: 'mute'}, 'missing'))))));
  add(place, h('p', {}, l.kernels.length > 1 ? `${moved} of ${plural(l.members.length, 'member')} moved, changed or are missing somewhere.` : plural(l.members.length, 'member'),
    l.without.length > 0 && ` Without it: ${l.without.map(short).join(', ')}.`),
  svg, l.kernels.length > 1 && h('p', {class: 'legend'}, h('span', {class: 'good'}, 'the same everywhere'), ' ', h('span', {class: 'odd'}, 'moved'), ' ', h('span', {class: 'bad'}, 'of another type or missing somewhere'), ' ', h('span', {class: 'dim'}, 'hole')),
    l.kernels.length > 1 && h('p', {}, only, ' ', h('label', {for: 'only-moved'}, 'Only what differs')),
  h('div', {class: 'wrap'}, h('table', {class: 'members'}, h('caption', {}, 'offset and, in brackets, size in bytes'), h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'member'), l.kernels.map(k => h('th', {scope: 'col'}, short(k.name))))), body)));
}
