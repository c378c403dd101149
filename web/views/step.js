// A run, forwards and backwards: a slider over all its instructions, with registers, stack, variables, maps and the packet at each. A value that
// is chosen tells where it came from.
import {add, h, chip, table, fold} from '../dom.js';
import {draw as drawPacket} from '../packet.js';
import {chooser, functions, listing, marks, reveal} from './listing.js';

export async function show(session, root, page) {
  const program = session.program;
  const code = await session.ask({do: 'code'});
  const ask = at => session.ask({do: 'step', program, at});
  const last = await ask(-1);
  const wanted = session.state.at === undefined || session.state.at === '' ? 0 : Number(session.state.at);
  const slider = h('input', {type: 'range', id: 'at', min: 0, max: last.end, value: Math.min(wanted, last.end), 'aria-label': 'Instructions executed'});
  const where = h('output', {for: 'at', id: 'where'});
  const state = h('div', {class: 'state'});
  const history = h('div', {id: 'why', 'aria-live': 'polite'});
  const text = functions(code, program).length ? listing(code, program, {mark: marks(code, program), insn: () => null}) : h('p', {class: 'mute'}, 'no code');
  const button = (label, title, move) => h('button', {type: 'button', 'aria-label': title, title, click: () => { slider.value = move(Number(slider.value)); slider.dispatchEvent(new Event('input')); }}, label);
  add(root, h('h2', {}, 'Step through ', program), chooser(session, page),
    h('div', {class: 'player'}, button('|◀', 'To the start', () => 0), button('◀', 'One instruction back', n => n - 1), slider, button('▶', 'One instruction forward', n => n + 1), button('▶|', 'To the end', () => last.end), where),
    h('div', {class: 'steps'}, text, h('div', {}, history, state)));

  let before, busy = false, next;
  const why = async (value, keep) => {
    const at = Number(slider.value);
    if (!keep) session.set({why: value});
    if (!value) return history.replaceChildren();
    history.replaceChildren(h('p', {class: 'mute'}, 'Looking back…'));
    try {
      const origin = await session.ask({do: 'why', program, at, value});
      if (page.current()) history.replaceChildren(origins(origin, value, n => { slider.value = n; put(n); }, () => why('')));
    } catch (e) {
      history.replaceChildren(h('p', {class: 'note'}, e.message));
    }
  };
  const put = async at => {
    next = at;
    if (busy) return; // the latest position wins
    busy = true;
    try {
      while (next !== undefined) {
        const n = next;
        next = undefined;
        const now = await ask(n);
        if (!page.current()) return;
        draw(now, before, text, state, where, why);
        before = now;
        session.set({program, at: String(n)});
        if (next === undefined && session.state.why) await why(session.state.why, true);
      }
    } catch (e) {
      state.replaceChildren(h('p', {class: 'error', role: 'alert'}, e.message));
    } finally {
      busy = false;
    }
  };
  slider.addEventListener('input', () => put(Number(slider.value)));
  await put(Number(slider.value));
  return () => root.querySelectorAll('.here').forEach(reveal); // once it has a size
}

// origins shows where a value came from: each step with what it came from below it.
function origins(o, value, go, close) {
  const item = x => h('li', {}, x.code ? h('button', {type: 'button', class: 'value', title: `Go to this point: after ${x.at} instructions`, click: () => go(x.at)}, `${x.code} ${x.pc}`) : null, x.code && ' ', h('code', {}, x.text),
    x.file && h('span', {class: 'mute'}, ` ${x.file}:${x.line}`), x.from.length > 0 && h('ol', {class: 'origins'}, x.from.map(item)));
  return h('section', {class: 'card', 'aria-label': `Why ${value}`}, h('h3', {}, 'Why ', h('code', {}, o.text), ' ', h('button', {type: 'button', click: close}, 'Close')),
    o.from.length ? h('ol', {class: 'origins'}, o.from.map(item)) : h('p', {class: 'mute'}, 'It has no history.'));
}

const nearWords = 16; // of the stack, which are shown; what is further away often was never written

function draw(now, before, text, state, where, why) {
  where.textContent = `${now.at} of ${now.end}`;
  for (const e of text.querySelectorAll('.here')) { e.classList.remove('here'); e.removeAttribute('aria-current'); }
  const insn = text.querySelector(`.insn[data-pc="${now.pc}"]`);
  if (insn && now.state === 'running' && now.code === now.program) {
    insn.classList.add('here');
    insn.setAttribute('aria-current', 'step');
    reveal(insn);
    let known = insn; // code that the compiler made has no line: it belongs to the one before
    while (known?.classList.contains('insn') && !known.dataset.line) known = known.previousElementSibling;
    for (const l of text.querySelectorAll('.line')) {
      if (l.dataset.line !== known?.dataset.line) continue;
      l.classList.add('here');
      reveal(l);
    }
  }
  const changed = (list, key, value) => x => before?.[list]?.some(o => o[key] === x[key] && o[value] !== x[value]) ?? false;
  const regChanged = changed('registers', 'name', 'value'), wordChanged = changed('stack', 'offset', 'bytes'), localChanged = changed('locals', 'name', 'value');
  const ask = (x, value) => h('button', {type: 'button', class: 'value', 'data-why': value, 'aria-label': `${value}: ${x}: where did it come from?`, title: 'Where did it come from?', click: () => why(value)}, h('code', {}, x));
  const cell = (x, on, value) => h('td', {class: on ? 'new' : null}, ask(x, value));
  const folds = new Map([...state.querySelectorAll('details')].map(d => [d.dataset.name, d.open])); // stay as they were left
  const keep = (name, title, open, ...what) => { const d = fold(title, folds.get(name) ?? open, ...what); d.dataset.name = name; return d; };
  const stack = words => table(null, null, words.map(w => [h('th', {scope: 'row'}, `r10${w.offset}`), cell(w.bytes.match(/../g).join(' '), wordChanged(w), `*(unsigned long *)($r10 - ${-w.offset})`), w.note ?? '']));
  const near = now.stack.slice(-nearWords), far = now.stack.slice(0, -nearWords);
  state.replaceChildren(...[
    now.state !== 'running' && h('p', {class: now.state === 'fault' ? 'error' : 'note'}, chip(now.state === 'fault' ? 'fault' : 'ended'), ' ', now.notes.join('; ')),
    now.state === 'running' && h('p', {}, h('span', {class: 'key'}, `${now.frames.map(f => f.function).join(' ← ')} `), h('code', {}, `${now.pc}: ${now.insn}`)),
    table('Registers', null, now.registers.filter(r => r.known).map(r => [h('th', {scope: 'row'}, r.name), cell(r.value, regChanged(r), `$${r.name}`), r.note === r.name ? 'frame pointer' : r.note ?? ''])),
    now.locals.length > 0 ? table('Variables', null, now.locals.map(l => [h('th', {scope: 'row'}, l.name), l.value === undefined || l.value === '' ? h('td', {class: 'mute'}, (l.error ?? '').replace(`${l.name} is `, '')) : cell(l.value, localChanged(l), l.name)])) : now.no_locals && h('p', {class: 'mute'}, now.no_locals),
    near.length > 0 && keep('stack', 'Stack', true, far.length > 0 && keep('far', `${far.length} words further from r10`, false, stack(far)), stack(near)),
    now.maps.length > 0 && keep('maps', 'Maps', true, now.maps.map(m => h('div', {}, h('span', {class: 'key'}, m.name), h('span', {class: 'mute'}, ` ${m.type} · ${m.entries}`), m.error && h('span', {class: 'mute'}, ` ${m.error}`), m.lines.map(l => h('div', {class: 'leaf'}, h('code', {}, l)))))),
    now.events.length > 0 && keep('events', 'Events', true, now.events.map(e => h('div', {class: 'leaf'}, h('code', {}, e)))),
    now.printed.length > 0 && keep('trace', 'Trace', true, now.printed.map(e => h('div', {class: 'leaf'}, h('code', {}, e)))),
    now.packet && keep('packet', 'Packet', true, drawPacket(now.packet, {before: before?.packet, pick: f => why(`pkt.${f.path}`), label: 'where did it come from?'})),
  ].filter(Boolean));
}
