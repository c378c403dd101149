// The search of the documentation: sections that have all words.
import {h} from './dom.js';

const input = document.getElementById('search'), found = document.getElementById('found');
let sections;

input.addEventListener('input', search);
if (input.value) search(); // typed before this script was there

async function search() {
  sections ??= await (await fetch('search.json')).json();
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  if (words.length === 0) return;
  const score = s => {
    const heading = `${s.title} ${s.heading}`.toLowerCase(), text = s.text.toLowerCase();
    let sum = 0;
    for (const w of words) {
      if (heading.includes(w)) sum += 10;
      else if (text.includes(w)) sum += 1;
      else return 0;
    }
    return sum;
  };
  const hits = sections.map(s => [score(s), s]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]);
  found.append(h('p', {}, `${hits.length} sections`), h('ul', {}, hits.slice(0, 20).map(([, s]) => h('li', {},
    h('a', {href: `${s.page}#${s.anchor}`}, s.heading === s.title ? s.title : `${s.title}: ${s.heading}`), h('div', {class: 'mute'}, excerpt(s.text, words[0]))))));
}

// Long references get a filter: only rows and items that have the words stay, and the headings above them. Folded tables with some unfold.
const references = ['helpers.html', 'releases.html', 'commands.html', 'scenarios.html', 'packet-reference.html', 'glossary.html'];
const filter = document.getElementById('filter');
if (references.includes(location.pathname.split('/').pop())) {
  document.getElementById('filtering').hidden = false;
  filter.addEventListener('input', () => filterPage(filter.value));
  const wanted = new URLSearchParams(location.hash.slice(1)).get('filter'); // a link to what is filtered
  if (wanted) {
    filter.value = wanted;
    filterPage(wanted);
  }
}

function filterPage(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), main = document.getElementById('main');
  const has = e => words.every(w => e.textContent.toLowerCase().includes(w));
  const entries = [...main.querySelectorAll('tbody tr, li')].filter(e => !e.closest('#found'));
  for (const e of entries) e.hidden = words.length > 0 && !has(e);
  for (const d of main.querySelectorAll('details')) d.open = words.length > 0 && [...d.querySelectorAll('tbody tr')].some(e => !e.hidden);
  // A heading and what follows it stay if something of it does.
  let section = [];
  const finish = () => {
    const kept = words.length === 0 || section.some(e => [...e.querySelectorAll('tbody tr, li')].some(x => !x.hidden) || /^H[2-6]$/.test(e.tagName) && has(e));
    for (const e of section) e.hidden = !kept;
    section = [];
  };
  for (const e of [...main.children]) {
    if (e.id === 'found' || e.tagName === 'H1') continue;
    if (e.tagName === 'H2') finish();
    section.push(e);
  }
  finish();
  const left = entries.filter(e => !e.hidden && !e.closest('[hidden]')).length;
  found.replaceChildren(...words.length > 0 ? [h('p', {}, `${left} entries on this page`)] : []);
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return `${at > 0 ? '…' : ''}${text.slice(at, at + 180)}…`;
}
