// Elements without templates: text is always text, never markup.

// h makes an element. Attributes that are false or null are left out; functions are listeners.
export function h(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === 'function') e.addEventListener(name, value);
    else e.setAttribute(name, value === true ? '' : value);
  }
  append(e, children);
  return e;
}

// add appends children to an element, lists of them included.
export function add(e, ...children) { append(e, children); }

function append(e, children) {
  for (const c of children) {
    if (Array.isArray(c)) append(e, c);
    else if (c !== null && c !== undefined && c !== false) e.append(c);
  }
}

const svgns = 'http://www.w3.org/2000/svg';

// s makes an SVG element.
export function s(tag, attributes, ...children) {
  const e = document.createElementNS(svgns, tag);
  for (const [name, value] of Object.entries(attributes ?? {})) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// chip is a word in the colour of how good it is.
export function chip(word, kind) {
  return h('span', {class: `chip ${kind ?? kindOf(word)}`}, word);
}

// kindOf maps the words of documents to colours. Colour never is the only sign: the word is there.
export function kindOf(word) {
  switch (word) {
    case 'ok': case 'accepted': return 'good';
    case 'changed': case 'dead': case 'differs': case 'may-break': case 'unknown': case 'unknown-hook': case '? hook': return 'odd';
    case 'refused': case 'fault': case 'error': case 'BREAK': return 'bad';
  }
  return 'dim';
}

// table makes a table of rows of cells.
export function table(caption, heads, rows) {
  return h('div', {class: 'wrap'}, h('table', {},
    caption && h('caption', {}, caption),
    heads && h('thead', {}, h('tr', {}, heads.map(t => h('th', {scope: 'col'}, t)))),
    h('tbody', {}, rows.map(r => h('tr', {}, r.map(c => c instanceof HTMLTableCellElement ? c : h('td', {}, c)))))));
}

// fold is a part that can be folded.
export function fold(title, open, ...children) {
  return h('details', {open}, h('summary', {}, title), ...children);
}

// number writes numbers of 64 bits, which are hex digits in documents, as the command prints them; addresses of the kernel stay as they are.
export function number(value) {
  return typeof value === 'string' && /^0x[0-9a-f]{1,16}$/.test(value) && BigInt(value) < 1n << 63n ? String(BigInt(value)) : String(value);
}

// tree shows a JSON value, foldable.
export function tree(value, name) {
  const label = name === undefined ? [] : [h('span', {class: 'key'}, String(name)), ' '];
  if (value === null || typeof value !== 'object') return h('div', {class: 'leaf'}, label, h('code', {}, value === null ? 'none' : number(value)));
  const entries = Object.entries(value);
  if (entries.length === 0) return h('div', {class: 'leaf'}, label, h('span', {class: 'mute'}, 'nothing'));
  const brief = ([k, v]) => name === undefined || v === null || typeof v === 'object' ? k : `${k} ${number(v)}`;
  const size = Array.isArray(value) ? plural(entries.length, 'element') : entries.slice(0, 4).map(brief).join(', ') + (entries.length > 4 ? ', …' : '');
  return h('details', {class: 'tree', open: entries.length < 8 && name === undefined},
    h('summary', {}, label, h('span', {class: 'mute'}, size)),
    entries.map(([k, v]) => tree(v, k)));
}

// plural writes a number with its noun.
export function plural(n, noun) { return `${n} ${noun}${n === 1 ? '' : 's'}`; }

// bytesText writes hex digits in rows of 16 bytes with offsets, as xxd does.
export function bytesText(hex) {
  const lines = [];
  for (let at = 0; at < hex.length; at += 32) {
    const row = hex.slice(at, at + 32).match(/../g) ?? [];
    const text = row.map(b => { const c = parseInt(b, 16); return c >= 32 && c < 127 ? String.fromCharCode(c) : '.'; }).join('');
    lines.push(`${(at / 2).toString(16).padStart(4, '0')}  ${row.join(' ').padEnd(47)}  ${text}`);
  }
  return lines.join('\n');
}
