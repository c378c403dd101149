// The layout of a struct on several kernels, as a drawing and in numbers.
import {add, h, s, plural} from './dom.js';

// short is a kernel's name without what all have.
export function short(name) { return name.replace(/^linux-/, '').replace(/-amd64|-cloud/g, x => ` ${x.slice(1)}`); }

const bar = 34;

// how tells what becomes of a member on the kernels.
function how(m) {
  if (!m.changed) return 'same';
  return m.places.some(p => !p || p.type !== m.places[0]?.type) ? 'other' : 'moved';
}

// draw draws the members of the type on each kernel to scale, with what moved marked, and lists them. only shows no more than what differs at first;
// lit is the name of a member to mark.
export function draw(l, place, {differs = false, lit = ''} = {}) {
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
      const r = s('rect', {x: width * p.offset / most, y, width: Math.max(0.5, width * Math.max(p.size, 0) / most), height: bar, class: `member ${how(m)}${m.name === lit ? ' chosen' : ''}`, 'data-member': m.name});
      r.append(s('title', {}, `${p.type} at ${p.offset}, ${p.size} bytes`));
      svg.append(r);
    }
  });
  svg.addEventListener('mouseover', e => {
    for (const r of svg.querySelectorAll('.member')) r.classList.toggle('lit', r.dataset.member === e.target.dataset.member && r.dataset.member !== '');
  });
  const moved = l.members.filter(m => m.changed).length;
  const only = h('input', {type: 'checkbox', id: 'only-moved', checked: differs, change: e => body.classList.toggle('only-moved', e.target.checked)});
  const body = h('tbody', {class: differs ? 'only-moved' : null}, l.members.map(m => h('tr', {class: m.name === lit ? `${how(m)} chosen` : how(m)},
    h('th', {scope: 'row'}, h('code', {}, m.places.find(Boolean)?.type ?? m.name)),
    m.places.map(p => h('td', {}, p ? `${p.offset}${p.bit_size ? `:${p.bit_offset} (${p.bit_size} bits)` : ` (${p.size})`}` : h('span', {class: 'mute'}, 'missing'))))));
  add(place, h('p', {}, l.kernels.length > 1 ? `${moved} of ${plural(l.members.length, 'member')} moved, changed or are missing somewhere.` : plural(l.members.length, 'member'),
    l.without.length > 0 && ` Without it: ${l.without.map(short).join(', ')}.`),
  svg, l.kernels.length > 1 && h('p', {class: 'legend'}, h('span', {class: 'good'}, 'the same everywhere'), ' ', h('span', {class: 'odd'}, 'moved'), ' ', h('span', {class: 'bad'}, 'of another type or missing somewhere'), ' ', h('span', {class: 'dim'}, 'hole')),
    l.kernels.length > 1 && h('p', {}, only, ' ', h('label', {for: 'only-moved'}, 'Only what differs')),
  h('div', {class: 'wrap'}, h('table', {class: 'members'}, h('caption', {}, 'offset and, in brackets, size in bytes'), h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'member'), l.kernels.map(k => h('th', {scope: 'col'}, short(k.name))))), body)));
}
