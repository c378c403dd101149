// What happens when, in simulations: who ran where on a sched_ext scheduler, and the packets of a queueing discipline.
import {h, s, table, plural, tree} from './dom.js';
import {zoomable} from './timeline.js';

function ms(ns) { return `${Math.round(ns / 1e4) / 100} ms`; }

// lanes draws rows of what is from when until when, to end: {name, spans: [{from, to, what, title}]}. kinds are names in the order of their colours.
// write writes a place on the axis; unit is 'time' (nanoseconds) or 'count'.
export function lanes(about, rows, end, kinds, unit = 'time', write = ms) {
  const index = new Map(kinds.map((k, i) => [k, Math.min(i, 7)]));
  const span = x => {
    const e = h('i', {class: `k${index.get(x.what) ?? 7}`, 'data-what': x.what, title: x.title ?? `${x.what}: ${write(x.from)} to ${write(x.to)}`});
    e.style.left = `${100 * x.from / end}%`; // the page's policy allows no style attributes
    e.style.width = `${100 * (x.to - x.from) / end}%`;
    return e;
  };
  const ticks = Array.from({length: 5}, (_, i) => h('span', {}, write(end * i / 4)));
  const view = h('div', {class: 'view', role: 'img', 'aria-label': about, 'data-end': end, 'data-unit': unit},
    rows.map(r => h('div', {class: 'lane'}, h('b', {title: r.name}, r.name), h('div', {class: 'track'}, h('div', {class: 'whole'}, r.spans.map(span))))), h('div', {class: 'ticks'}, ticks));
  const bar = h('div', {class: 'zoom', role: 'group', 'aria-label': `Zoom: ${about}`});
  const light = what => { for (const e of view.querySelectorAll('.whole i')) e.classList.toggle('faint', what !== undefined && e.dataset.what !== what); };
  view.addEventListener('mouseover', e => light(e.target.dataset?.what));
  view.addEventListener('mouseleave', () => light());
  zoomable(view, bar);
  return h('div', {class: 'lanes'}, bar, view);
}

// keys says what the colours of lanes are.
export function keys(kinds) {
  return h('ul', {class: 'keys'}, kinds.map((k, i) => h('li', {}, h('i', {class: `k${Math.min(i, 7)}`, 'aria-hidden': 'true'}), k)));
}

// schedule draws a schedule, a row for each CPU. The table has the same in numbers.
export function schedule(x) {
  const cpus = x.busy_ns.length, end = Math.max(x.duration_ns, 1), kinds = x.tasks.map(t => t.name);
  const rows = x.busy_ns.map((_, cpu) => ({name: `CPU ${cpu}`, spans: x.segments.filter(g => g.cpu === cpu && g.to_ns <= end).map(g => ({from: g.from_ns, to: g.to_ns, what: g.task}))}));
  const word = (i, name) => h('span', {}, h('span', {class: `swatch k${Math.min(i, 7)}`, 'aria-hidden': 'true'}), ` ${name}`);
  return h('section', {class: 'card', 'aria-label': `schedule of ${x.scheduler || x.ops}`}, h('h3', {}, `${x.scheduler || x.ops}: ${x.status}, ${ms(x.duration_ns)}, ${plural(cpus, 'CPU')}`),
    x.error && h('p', {class: 'error'}, x.error.message),
    cpus > 0 && lanes(`${plural(x.segments.length, 'turn')} of ${plural(x.tasks.length, 'task')} on ${plural(cpus, 'CPU')} in ${ms(x.duration_ns)}; the table below has them in numbers`, rows, end, kinds),
    x.dropped_segments > 0 && h('p', {class: 'note'}, `${x.dropped_segments} more turns are not drawn.`),
    table('Tasks', ['task', 'ran', 'waited', 'longest wait', 'turns', 'preempted', 'migrated'],
      x.tasks.map((t, i) => [word(i, t.name), ms(t.runtime_ns), ms(t.waited_ns), ms(t.max_wait_ns), String(t.runs), String(t.preempted), String(t.migrations)])),
    h('details', {}, h('summary', {}, 'All of it'), tree(x)));
}

const states = ['in the queue', 'on the link', 'dropped'], mostPackets = 100;

// traffic draws the queue of a queueing discipline, and the way of its first packets.
export function traffic(x) {
  const packets = x.packets.slice(0, mostPackets), end = Math.max(1, x.duration_ns, ...packets.flatMap(p => [p.arrival_ns, p.sent_ns ?? 0, p.dropped_ns ?? 0]));
  const rows = packets.map(p => {
    const left = Math.max(p.dequeued_ns ?? 0, p.dropped_ns ?? 0), spans = [];
    if (left > p.arrival_ns) spans.push({from: p.arrival_ns, to: left, what: states[0]});
    if (p.dequeued_ns && p.sent_ns > p.dequeued_ns) spans.push({from: p.dequeued_ns, to: p.sent_ns, what: states[1]});
    else if (p.dropped_ns) spans.push({from: p.dropped_ns, to: Math.min(p.dropped_ns + end / 200, end), what: states[2]});
    return {name: p.name, spans};
  }).filter(r => r.spans.length > 0);
  const most = Math.max(1, ...x.queue.map(q => q.held));
  const points = x.queue.map((q, i) => { const at = 1000 * q.at_ns / end, y = n => 98 - 95 * n / most; return `${at},${y(x.queue[Math.max(i - 1, 0)].held)} ${at},${y(q.held)}`; });
  return h('section', {class: 'card', 'aria-label': `traffic of ${x.ops}`}, h('h3', {}, `${x.ops}: ${x.status}, ${ms(x.duration_ns)}`), x.error && h('p', {class: 'error'}, x.error.message),
    x.queue.length > 1 && [h('h3', {}, `Packets in the queue, at most ${most}`), s('svg', {class: 'chart', viewBox: '0 0 1000 100', preserveAspectRatio: 'none', role: 'img', 'aria-label': `The length of the queue over ${ms(x.duration_ns)}, at most ${most}`}, s('polyline', {points: `0,98 ${points.join(' ')}`}))],
    rows.length > 0 && [h('h3', {}, `The first ${plural(rows.length, 'packet')}, from arrival to the link`), keys(states), lanes(`${plural(rows.length, 'packet')} from arrival to the link; all of it is below`, rows, end, states)],
    table('Flows', ['flow', 'arrived', 'sent', 'dropped', 'mean wait', 'longest wait'], x.flows.map(f => [f.name, String(f.arrived), String(f.sent), String(f.dropped), ms(f.mean_wait_ns), ms(f.max_wait_ns)])),
    h('details', {}, h('summary', {}, 'All of it'), tree(x)));
}
