// Packets: headers drawn as RFCs draw them, 32 bits to a row, and expressions of packets that are changed at a field.
import {add, h, bytesText, plural} from './dom.js';

const row = 32; // bits

// cells lists the fields of a header as parts that each fit into a row. Fields that others are parts of are left to the others.
export function cells(layer) {
  const bits = 8 * layer.len, out = [];
  const fields = layer.fields.map(f => ({...f, from: 8 * (f.off - layer.off) + f.bit})).filter(f => f.bits > 0).sort((a, b) => a.from - b.from || a.bits - b.bits);
  let at = 0;
  const put = (to, field) => {
    for (let first = true; at < to; first = false) {
      const end = Math.min(to, at - at % row + row);
      out.push({from: at, bits: end - at, field, first});
      at = end;
    }
  };
  for (const f of fields) {
    if (f.from < at || f.from + f.bits > bits) continue; // another way to write the same bits
    put(f.from, null);
    put(f.from + f.bits, f);
  }
  put(bits, null);
  return out;
}

// draw shows the headers of a packet. pick is called with a field that is chosen, label says what that does. before is an earlier state of the
// packet: what differs is marked.
export function draw(p, {pick, label, before} = {}) {
  const old = new Map((before?.layers ?? []).flatMap(l => l.fields).map(f => [f.path, f.text]));
  const changed = f => old.has(f.path) && old.get(f.path) !== f.text;
  const cell = c => {
    if (!c.field) return h('td', {colspan: c.bits, class: 'unnamed'}, h('span', {class: 'sr'}, 'no field'));
    const f = c.field;
    const what = c.first ? [h('span', {class: 'key'}, f.name), ' ', h('code', {}, f.text)] : h('span', {class: 'key'}, `${f.name}, continued`);
    const place = `${plural(f.bits, 'bit')} at byte ${f.off}`;
    return h('td', {colspan: c.bits, class: changed(f) ? 'new' : null, title: `${f.path} = ${f.text}: ${place}`},
      c.first && pick ? h('button', {type: 'button', class: 'value', 'data-path': f.path, 'aria-label': `${f.path} ${f.text}: ${label}`, click: () => pick(f)}, what) : what);
  };
  const out = h('div', {class: 'packet'});
  for (const l of p.layers) {
    const size = `${plural(l.len, 'byte')} at ${l.off}`;
    if (!l.fields.length || l.len > 200) {
      add(out, h('h3', {}, `${l.path}: ${size}`), h('pre', {}, bytesText(p.bytes.slice(2 * l.off, 2 * (l.off + l.len)))));
      continue;
    }
    const rows = [];
    for (const c of cells(l)) {
      if (c.from % row === 0) rows.push([]);
      rows.at(-1).push(cell(c));
    }
    const last = rows.at(-1).reduce((n, c) => n + Number(c.getAttribute('colspan')), 0);
    if (last < row) rows.at(-1).push(h('td', {colspan: row - last, class: 'outside', 'aria-hidden': 'true'}));
    const sum = l.sum === 'wrong' ? [' · ', h('span', {class: 'bad'}, `checksum wrong, right is 0x${l.want.toString(16)}`)] : l.sum === 'right' ? ' · checksum right' : '';
    add(out, h('div', {class: 'wrap'}, h('table', {class: 'bits'}, h('caption', {}, h('strong', {}, l.path), `: ${size}`, sum), h('colgroup', {}, Array.from({length: row}, () => h('col', {}))),
      h('tbody', {}, rows.map(r => h('tr', {}, r))))));
  }
  if (p.cut) add(out, h('p', {class: 'note'}, `The packet ends within ${p.cut}.`));
  if (p.size > p.bytes.length / 2) add(out, h('p', {class: 'mute'}, `Its first ${p.bytes.length / 2} of ${plural(p.size, 'byte')} are shown.`));
  return out;
}

// parts splits an expression at the slashes that separate layers.
function parts(text) {
  const out = [''];
  let depth = 0, quote = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quote) {
      if (c === '\\') out[out.length - 1] += text[i++];
      else if (c === quote) quote = '';
    } else if (c === '\'' || c === '"') quote = c;
    else if (c === '(') depth++;
    else if (c === ')') depth--;
    else if (c === '/' && depth === 0) {
      out.push('');
      continue;
    }
    out[out.length - 1] += text[i] ?? '';
  }
  return out;
}

// setField returns an expression with another value of a field of its nth layer of a name, or undefined if it has no such layer: hex digits, or
// a header that it does not name.
export function setField(text, name, nth, field, value) {
  if (/^[0-9a-f\s:]*$/i.test(text)) return undefined;
  let list = parts(text.trim());
  const nameOf = part => /^\s*(\w+)\s*(?=\(|$|\[)/.exec(part)?.[1];
  if (name === 'eth' && nameOf(list[0]) !== 'eth') list = ['eth', ...list];
  const aliases = {ipv4: 'ip', ipv6: 'ip6'};
  const i = list.findIndex(part => { const is = nameOf(part); return (aliases[is] ?? is) === name && nth-- === 0; });
  if (i < 0) return undefined;
  const [, head, inside, tail] = /^\s*(\w+)\s*(?:\((.*)\))?(\s*(?:\[.*\])?\s*)$/s.exec(list[i]) ?? [];
  if (head === undefined) return undefined;
  const fields = (inside ?? '').split(',').map(f => f.trim()).filter(f => f && f.split('=')[0].trim() !== field);
  list[i] = `${head}(${[...fields, `${field}=${value}`].join(',')})${tail}`;
  return list.join('/');
}
