// C source and BPF instructions as the kernel receives them: what ran is shaded, what CO-RE patched is marked.
import {add, h, chip} from '../dom.js';
import {access, chooser, functions, listing, marks} from './listing.js';

export async function show(session, root, page) {
  const code = await session.ask({do: 'code'});
  const program = session.program;
  add(root, h('h2', {}, 'Code on ', session.kernel), chooser(session, page));
  if (!functions(code, program).length) {
    add(root, h('p', {class: 'note'}, 'The program is not loaded on this kernel, so there is no code.'));
    return;
  }
  const patches = functions(code, program).flatMap(f => f.insns).filter(i => i.relocation);
  add(root, h('p', {class: 'legend'}, h('span', {class: 'ran'}, 'ran'), ' ', h('span', {class: 'missed'}, 'did not run'), ' ', h('span', {class: 'dead'}, 'cannot run on this kernel'),
    patches.length > 0 && h('span', {}, ` · ${patches.length} of its instructions are patched by CO-RE`)));
  add(root, listing(code, program, {mark: marks(code, program), insn: i => patch(i.relocation, page)}));
}

function patch(r, page) {
  if (!r) return null;
  const {type, text} = access(r.local);
  const what = r.missing ? chip('missing', 'bad') : h('span', {class: r.old === r.new ? 'patch' : 'patch changed'}, r.old === r.new ? `${r.new}` : `${r.old} → ${r.new}`);
  return h('span', {class: 'relocation', title: r.kind}, ' ', what, ' ', h('a', {href: '#', title: `The layout of ${type}`, click: e => { e.preventDefault(); e.stopPropagation(); page.go({view: 'kernels', type}); }}, text));
}
