// Who ran where and when: the schedule of a sched_ext scheduler as a timeline, a row for each CPU.
import {h, s, table, plural, tree} from './dom.js';

const bar = 26, left = 56, width = 1000;

function ms(ns) { return `${Math.round(ns / 1e4) / 100} ms`; }

// timeline draws a schedule. Each task has a colour and its name where there is room for it; the table has the same in numbers.
export function timeline(x) {
  const cpus = x.busy_ns.length, end = Math.max(x.duration_ns, 1), to = ns => left + (width - left) * ns / end;
  const index = new Map(x.tasks.map((t, i) => [t.name, i]));
  const svg = s('svg', {viewBox: `0 0 ${width} ${cpus * bar + 20}`, class: 'timeline', role: 'img',
    'aria-label': `${plural(x.segments.length, 'turn')} of ${plural(x.tasks.length, 'task')} on ${plural(cpus, 'CPU')} in ${ms(x.duration_ns)}; the table below has them in numbers`});
  for (let cpu = 0; cpu < cpus; cpu++) svg.append(s('text', {x: 0, y: cpu * bar + 17, class: 'label'}, `CPU ${cpu}`), s('rect', {x: left, y: cpu * bar + 3, width: width - left, height: bar - 6, class: 'idle'}));
  for (const g of x.segments) {
    const wide = to(g.to_ns) - to(g.from_ns);
    const r = s('rect', {x: to(g.from_ns), y: g.cpu * bar + 3, width: Math.max(wide, 0.5), height: bar - 6, class: `task task${(index.get(g.task) ?? 0) % 8}`, 'data-task': g.task});
    r.append(s('title', {}, `${g.task} on CPU ${g.cpu}: ${ms(g.from_ns)} to ${ms(g.to_ns)}`));
    svg.append(r);
    if (wide > 9 * g.task.length) svg.append(s('text', {x: to(g.from_ns) + 4, y: g.cpu * bar + 17, class: 'name'}, g.task));
  }
  for (let i = 0; i <= 4; i++) svg.append(s('text', {x: to(end * i / 4), y: cpus * bar + 14, class: 'label', 'text-anchor': i === 4 ? 'end' : i === 0 ? 'start' : 'middle'}, ms(end * i / 4)));
  const light = e => { for (const r of svg.querySelectorAll('.task')) r.classList.toggle('faint', Boolean(e.target.dataset?.task) && r.dataset.task !== e.target.dataset.task); };
  svg.addEventListener('mouseover', light);
  svg.addEventListener('mouseleave', () => { for (const r of svg.querySelectorAll('.faint')) r.classList.remove('faint'); });
  const word = (i, name) => h('span', {}, h('span', {class: `swatch task${i % 8}`, 'aria-hidden': 'true'}), ` ${name}`);
  return h('section', {class: 'card', 'aria-label': `schedule of ${x.scheduler || x.ops}`}, h('h3', {}, `${x.scheduler || x.ops}: ${x.status}, ${ms(x.duration_ns)}, ${plural(cpus, 'CPU')}`),
    x.error && h('p', {class: 'error'}, x.error.message), h('div', {class: 'wrap'}, svg),
    x.dropped_segments > 0 && h('p', {class: 'note'}, `${x.dropped_segments} more turns are not drawn.`),
    table('Tasks', ['task', 'ran', 'waited', 'longest wait', 'turns', 'preempted', 'migrated'],
      x.tasks.map((t, i) => [word(i, t.name), ms(t.runtime_ns), ms(t.waited_ns), ms(t.max_wait_ns), String(t.runs), String(t.preempted), String(t.migrations)])),
    h('details', {}, h('summary', {}, 'All of it'), tree(x)));
}
