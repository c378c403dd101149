// The search of the documentation: sections that have all words.
import {h} from './dom.js';

const input = document.getElementById('search'), found = document.getElementById('found');
let sections;

input.addEventListener('input', async () => {
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
});

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return `${at > 0 ? '…' : ''}${text.slice(at, at + 180)}…`;
}
