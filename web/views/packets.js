// An editor for packets: an expression, the packet drawn with its headers, and what the object's programs do with it.
import {add, h, chip} from '../dom.js';
import {draw, setField} from '../packet.js';

const usual = 'eth/ip/tcp(dport=80)';

export async function show(session, root, page) {
  const text = session.state.packet || usual;
  const input = h('input', {id: 'expression', type: 'text', value: text, spellcheck: 'false', autocomplete: 'off', 'aria-describedby': 'grammar'});
  const take = e => { e?.preventDefault(); page.go({packet: input.value.trim(), field: ''}); };
  const {layers} = await session.ask({do: 'layers'});
  const append = h('select', {id: 'layer', change: e => { if (e.target.value) page.go({packet: `${input.value.trim()}/${e.target.value}`, field: ''}); }},
    h('option', {value: ''}, 'choose'), layers.map(l => h('option', {value: l.name}, l.name)));
  add(root, h('h2', {}, 'A packet'),
    h('form', {class: 'editor', submit: take}, h('label', {for: 'expression'}, 'Packet'), ' ', input, ' ', h('button', {}, 'Draw'), ' ', h('span', {class: 'field'}, h('label', {for: 'layer'}, 'Add a header'), append)),
    h('p', {class: 'mute', id: 'grammar'}, 'Headers and payload between slashes: eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/\'GET /\', or hex digits. Lengths and checksums follow by themselves; ip(csum=bad) has a wrong one.'));
  let packet;
  try {
    packet = await session.ask({do: 'packet', packet: text});
  } catch (e) {
    if (e.kind === 'time') throw e;
    add(root, h('p', {class: 'error', role: 'alert'}, e.message));
    return;
  }
  const pick = f => page.go({field: f.path});
  const chosen = packet.layers.flatMap(l => l.fields.map(f => ({layer: l, ...f}))).find(f => f.path === session.state.field);
  add(root, h('p', {}, h('code', {}, packet.text)), chosen && change(chosen, text, page), draw(packet, {pick, label: 'change it'}));
  if (!session.packets.length) {
    add(root, h('p', {class: 'note'}, 'No program of this object takes packets: choose one that does, such as an XDP example.'));
    return;
  }
  await results(session, root, page, text);
  return () => { if (chosen) root.querySelector('#value')?.focus(); };
}

// change is the form for the value of a field.
function change(f, text, page) {
  const value = h('input', {id: 'value', type: 'text', value: f.text, spellcheck: 'false', autocomplete: 'off'});
  const wrong = h('p', {class: 'error', role: 'alert', hidden: true});
  return h('form', {class: 'editor card', submit: e => {
    e.preventDefault();
    const next = setField(text, f.layer.name, f.layer.nth, f.name, value.value.trim());
    if (next) return page.go({packet: next, field: ''});
    wrong.hidden = false;
    wrong.textContent = `${f.layer.path} is not in the expression by that name: write the header there to change its fields.`;
  }}, h('label', {for: 'value'}, f.path), ' ', value, ' ', h('button', {}, 'Change'), ' ', h('button', {type: 'button', click: () => page.go({field: ''})}, 'Cancel'), wrong);
}

// results shows what each program that takes packets does with it.
async function results(session, root, page, text) {
  const doc = await session.ask({do: 'run', packet: text});
  add(root, h('h2', {}, `What ${doc.object} does with it`));
  for (const p of doc.programs.filter(p => session.packets.includes(p.name))) {
    const r = p.runs[0];
    add(root, h('section', {class: 'card', 'data-program': p.name, 'aria-label': p.name}, h('strong', {}, p.name), ' ', chip(p.status), ' ',
      r && h('span', {class: 'verdict'}, r.verdict || r.ret), p.error && h('p', {class: 'error'}, p.error.message), r?.fault && h('p', {class: 'error'}, r.fault.text),
      r?.packet_changes?.length > 0 && h('ul', {}, r.packet_changes.map(c => h('li', {}, h('code', {}, c)))),
      r && h('p', {}, h('button', {click: () => page.go({view: 'step', program: p.name, at: 0, packet: text})}, 'Step through it with this packet'))));
  }
}
