// C source, BPF instructions and native code as the kernel receives them: what ran is shaded, and what CO-RE patched is marked, with the struct
// that it is about.
import {add, h, chip} from '../dom.js';
import {draw} from '../layout.js';
import {access, chooser, functions, listing, marks} from './listing.js';

const processors = {amd64: 'x86-64', arm64: 'ARM64'};

export async function show(session, root, page) {
  const code = await session.ask({do: 'code'});
  const program = session.program;
  const proc = Object.hasOwn(processors, session.state.proc ?? '') ? session.state.proc : '';
  add(root, h('h2', {}, 'Code on ', session.kernel), h('div', {class: 'choices'}, chooser(session, page),
    h('p', {class: 'field'}, h('label', {for: 'proc'}, 'Native code'), ' ', h('select', {id: 'proc', change: e => page.go({proc: e.target.value})},
      h('option', {value: ''}, 'not shown'), Object.entries(processors).map(([value, name]) => h('option', {value, selected: value === proc}, name))))));
  if (!functions(code, program).length) {
    add(root, h('p', {class: 'note'}, 'The program is not loaded on this kernel, so there is no code.'));
    return;
  }
  const insns = functions(code, program).flatMap(f => f.insns);
  const patches = insns.filter(i => i.relocation);
  add(root, h('p', {class: 'legend'}, h('span', {class: 'ran'}, 'ran'), ' ', h('span', {class: 'missed'}, 'did not run'), ' ', h('span', {class: 'dead'}, 'cannot run on this kernel'),
    patches.length > 0 && h('span', {}, ` · ${patches.length} of its instructions are patched by CO-RE: choose one to see its struct`)));
  const chosen = session.state.insn === undefined || session.state.insn === '' ? null : patches.find(i => i.pc === Number(session.state.insn));
  if (chosen) add(root, await struct(chosen, session, page));
  let native = null;
  if (proc) {
    try {
      native = await session.ask({do: 'native', program, processor: proc});
    } catch (e) {
      if (e.kind === 'time') throw e;
      add(root, h('p', {class: 'note'}, e.message));
    }
  }
  const branches = new Map((Object.hasOwn(code.branches, program) ? code.branches[program] : []).map(b => [b.pc, b]));
  const list = listing(code, program, {mark: marks(code, program), insn: i => [branch(branches.get(i.pc)), patch(i, page)], native, nativeName: processors[proc]});
  add(root, list);
  return () => list.querySelector('.insn.chosen')?.scrollIntoView({block: 'nearest'});
}

// branch tells which way a conditional jump went.
function branch(b) {
  if (!b) return null;
  const [word, kind] = b.taken && b.fell ? ['both ways', 'both-ways'] : b.taken ? ['jumped', 'one-way'] : ['did not jump', 'one-way'];
  return h('span', {class: `way ${kind}`, title: b.taken && b.fell ? 'runs went both ways' : 'the other side never ran'}, ` ${word}`);
}

function patch(i, page) {
  const r = i.relocation;
  if (!r) return null;
  const {type, text} = access(r.local);
  const what = r.missing ? chip('missing', 'bad') : h('span', {class: r.old === r.new ? 'patch' : 'patch changed'}, r.old === r.new ? `${r.new}` : `${r.old} → ${r.new}`);
  return h('span', {class: 'relocation', title: r.kind}, ' ', what, ' ', h('a', {href: '#', title: `The layout of ${type} beside the code`,
    click: e => { e.preventDefault(); e.stopPropagation(); page.go({insn: i.pc}); }}, text));
}

// struct shows what a patch did: the member in the struct that the compiler knew and in that of the kernel.
async function struct(i, session, page) {
  const r = i.relocation;
  const {type, text} = access(r.local);
  const place = h('div', {});
  const box = h('section', {class: 'card struct', 'aria-label': `CO-RE at instruction ${i.pc}`}, h('h3', {}, `Instruction ${i.pc}: `, h('code', {}, i.text)),
    h('p', {}, r.missing ? [chip('missing', 'bad'), ` ${session.kernel} lacks ${text}.`] : [h('strong', {}, text), r.old === r.new ? ` is ${r.new} in the object and on ${session.kernel}` : ` is ${r.old} in the object and ${r.new} on ${session.kernel}`, h('span', {class: 'mute'}, ` (${r.kind})`)], ' ',
      h('button', {type: 'button', click: () => page.go({view: 'kernels', type})}, 'On all kernels'), ' ', h('button', {type: 'button', click: () => page.go({insn: ''})}, 'Close')), place);
  try {
    const l = await session.ask({do: 'layout', type, kernels: [session.kernel], own: true});
    if (l.why) add(place, h('p', {class: 'mute'}, `${l.why}: only the kernel's is drawn.`));
    draw(l, place, {differs: l.own, lit: text.split('.').at(1) ?? ''});
  } catch (e) {
    if (e.kind === 'time') throw e;
    add(place, h('p', {class: 'mute'}, e.message));
  }
  return box;
}
