// The page: what to run at the top, seven views of it, and the state in the URL.
import {h} from './dom.js';
import {Session, load} from './session.js';
import * as state from './state.js';
import {show as programs} from './views/programs.js';
import {show as code} from './views/code.js';
import {show as step} from './views/step.js';
import {show as verify} from './views/verify.js';
import {show as packets} from './views/packets.js';
import {show as find} from './views/find.js';
import {show as kernels} from './views/kernels.js';

const views = {programs, code, step, verify, packets, find, kernels};
const $ = id => document.getElementById(id);
const main = $('main'), status = $('status');

let session;
let turn = 0; // counts what is shown, so that a late answer is dropped

function say(text) { status.textContent = text; }

function failed(error) {
  return h('div', {class: 'error', role: 'alert'}, h('strong', {}, error.kind === 'time' ? 'Stopped. ' : 'This did not work. '), error.message,
    error.kind === 'time' && h('p', {}, 'bpfrun is started again for the next thing that you ask for. ',
      h('button', {click: () => { session.set({limit: 60}); render(); }}, 'Try again with 60 seconds')));
}

async function render() {
  const mine = ++turn;
  const view = Object.hasOwn(views, session.state.view ?? '') ? session.state.view : 'programs';
  for (const tab of document.querySelectorAll('[role=tab]')) {
    const on = tab.dataset.view === view;
    tab.setAttribute('aria-selected', on);
    tab.tabIndex = on ? 0 : -1;
  }
  main.setAttribute('aria-labelledby', `tab-${view}`);
  main.setAttribute('aria-busy', 'true');
  main.dataset.view = '';
  say('Working…');
  const began = performance.now();
  const root = h('div', {});
  try {
    await session.open();
    const after = await views[view](session, root, {current: () => mine === turn, say, render, go});
    if (mine !== turn) return;
    const focused = main.contains(document.activeElement) && document.activeElement;
    main.replaceChildren(root);
    after?.();
    if (focused && focused !== main) refocus(focused.id);
    say(`${session.objectName}: ${Math.round(performance.now() - began)} ms`);
  } catch (e) {
    if (mine !== turn) return;
    main.replaceChildren(failed(e));
    say('');
    if (e.kind === undefined && !e.message) throw e;
  }
  main.setAttribute('aria-busy', 'false');
  main.dataset.view = view; // what tests wait for
  fill();
}

// refocus keeps the keyboard in the results when what had the focus is gone: at the same control, else at the slider, else at the beginning.
function refocus(id) {
  const within = other => other && main.querySelector(`#${CSS.escape(other)}`);
  (within(id) || within('at') || main).focus({preventScroll: true});
}

// go changes the state, as a click on a link does, and shows it.
function go(change) {
  session.set(change, true);
  return render();
}

// fill writes the state into the inputs.
function fill() {
  const example = $('example'), kernel = $('kernel');
  const {open} = session.site;
  const options = [...open ? [open] : [], ...session.site.examples].map(e => h('option', {value: e.name}, e.title));
  const chosen = session.lost ? '' : session.state.example ?? '';
  if (!chosen) options.unshift(h('option', {value: ''}, session.lost ? 'choose one' : session.objectName));
  example.replaceChildren(...options);
  example.value = chosen;
  kernel.replaceChildren(...session.kernelNames().map(n => h('option', {value: n}, n.replace(/^linux-/, 'Linux '))));
  kernel.value = session.kernel;
  $('packet-field').hidden = !session.packets.length || session.state.view === 'packets'; // that view has its own
  if (session.typed !== null && document.activeElement !== $('asm')) $('asm').value = session.typed;
  if (document.activeElement !== $('packet')) $('packet').value = session.state.packet ?? '';
}

// sample is what the field for assembly begins with: docs/play.md explains it.
const sample = `.map counts array 4 8 1
.prog count xdp
    *(u32 *)(r10 - 4) = 0
    r2 = r10
    r2 += -4
    r1 = map_fd(counts)
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 + 0) += r1
out:
    r0 = 2  // XDP_PASS
    exit
`;

// typing shows or hides the field for assembly.
function typing(on) {
  $('typing').hidden = !on;
  $('type-open').setAttribute('aria-expanded', on);
  if (on && !$('asm').value) $('asm').value = session.typed ?? sample;
  (on ? $('asm') : $('type-open')).focus();
}

async function typed() {
  try {
    await session.openTyped($('asm').value);
  } catch (e) {
    main.replaceChildren(failed(e));
    return;
  }
  await render();
}

async function dropped(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    if (isObject(bytes)) await session.openFile(file.name, bytes);
    else await session.addKernel(file.name, bytes);
  } catch (e) {
    main.replaceChildren(failed(e));
    say('');
    return;
  }
  await render();
}

// isObject tells BPF objects (ELF of machine 247) from other files.
function isObject(b) {
  return b.length > 20 && b[0] === 0x7f && b[1] === 0x45 && b[2] === 0x4c && b[3] === 0x46 && (b[5] === 1 ? b[18] | b[19] << 8 : b[19] | b[18] << 8) === 247;
}

function listen() {
  $('inputs').addEventListener('submit', e => e.preventDefault());
  $('type-open').addEventListener('click', () => typing($('typing').hidden));
  $('type-close').addEventListener('click', () => typing(false));
  $('typing').addEventListener('submit', e => { e.preventDefault(); typed(); });
  $('example').addEventListener('change', async e => {
    if (!e.target.value) return;
    session.openExample(e.target.value);
    await render();
  });
  $('kernel').addEventListener('change', e => go({kernel: e.target.value}));
  $('packet').addEventListener('change', e => go({packet: e.target.value}));
  for (const id of ['file', 'btf']) {
    $(id).addEventListener('change', async e => {
      const [file] = e.target.files;
      if (file) await dropped(file);
      e.target.value = '';
    });
  }
  const tabs = [...document.querySelectorAll('[role=tab]')];
  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener('click', () => go({view: tab.dataset.view}));
    tab.addEventListener('keydown', e => {
      const to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1}[e.key];
      if (to === undefined) return;
      e.preventDefault();
      const next = tabs[(to + tabs.length) % tabs.length];
      next.focus();
      go({view: next.dataset.view});
    });
  }
  let over = 0;
  addEventListener('dragenter', e => { e.preventDefault(); over++; $('drop').hidden = false; });
  addEventListener('dragleave', () => { if (--over <= 0) $('drop').hidden = true; });
  addEventListener('dragover', e => e.preventDefault());
  addEventListener('drop', async e => {
    e.preventDefault();
    over = 0;
    $('drop').hidden = true;
    for (const file of e.dataTransfer.files) await dropped(file);
  });
  addEventListener('popstate', follow);
}

// follow shows what the URL says. If that is damaged, the page can still be used for something else.
async function follow() {
  turn++; // whatever is under way is not shown
  try {
    await session.follow(state.read());
  } catch (e) {
    main.replaceChildren(failed(new Error(`the address of the page is damaged: ${e.message}`)));
    main.setAttribute('aria-busy', 'false');
    say('');
    fill();
    return;
  }
  fill();
  await render();
}

async function start() {
  session = new Session(await (await load('site.json')).json());
  $('links').replaceChildren(...[session.site.docs && h('a', {href: session.site.docs}, 'Documentation'), h('span', {class: 'mute'}, ` bpfrun ${session.site.version}`)].filter(Boolean));
  listen();
  await follow();
  if (session.site.engine === 'wasm' && 'serviceWorker' in navigator) await navigator.serviceWorker.register('sw.js').catch(() => {});
}

start().catch(e => main.replaceChildren(failed(e)));
