// Reports as pages, in a real browser: every kind, wide and narrow, light, dark and on paper, by what a user sees. Screenshots are written to
// web/test/shots. See playground.test.mjs.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {browserPath, command, root} from './serve.mjs';

let chromium;
try { ({chromium} = await import('playwright-core')); } catch { /* skipped below */ }
const missing = !chromium ? 'playwright-core is not installed (npm ci in web/test)' : !browserPath ? 'chromium is not installed (apt-get install chromium)' : !existsSync(command) ? `${command} is not built (make build)` : false;

const shots = `${root}web/test/shots`;
const newest = 'testdata/btf/linux-7.2.13-amd64.btf.xz', oldest = 'testdata/btf/linux-5.10.262-amd64-cloud.btf.xz';

// reports are the kinds of pages, with the command that writes one, and what must be seen on it.
const reports = {
  run: [['run', 'examples/xdp/xdp.bpf.o', '--btf', 'embedded', '--profile'], /filter[\s\S]*XDP_/],
  packet: [['run', 'examples/nat/nat.bpf.o', '-p', 'outbound', '--btf', 'embedded', '--global', 'public_addr=0x017100cb', '--packet', 'eth/ip(src=10.0.0.7)/udp(sport=5353,dport=53)/\'query\''], /203\.0\.113\.1/],
  test: [['test', 'examples/xdp', 'examples/portmap', 'examples/schedfifo', '--btf', 'embedded', '--btf', newest, '--cover'], /lines covered[\s\S]*all files/],
  matrix: [['matrix', 'testdata/objects/clang-14/missing.o', 'examples/exec/exec.bpf.o', '--btf', 'testdata/btf/*.btf.xz', '--no-cache'], /BREAK/],
  verify: [['verify', 'web/examples/faults.o', '--btf', 'embedded'], /17 refused/],
  sched: [['run', 'examples/schedfifo/schedfifo.bpf.o', '--btf', newest], /schedule of fifo_ops/],
  qdisc: [['run', 'examples/qdiscfair/qdiscfair.bpf.o', '--btf', newest], /packets in the queue/],
  diff: [['diff', 'testdata/objects/clang-14/builds_old.o', 'testdata/objects/clang-14/builds_new.o', '--btf', 'embedded'], /newly refused/],
  bench: [['bench', 'examples/xdp/xdp.bpf.o', '--btf', 'embedded'], /how often/],
  fuzz: [['fuzz', 'examples/portmap/portmap.bpf.o', '--btf', 'embedded', '-j', '1', '--runs', '20000'], /ip\.csum is wrong/],
  race: [['race', 'examples/racecount/racecount.bpf.o', '--btf', 'embedded', '-p', 'count'], /not-serialisable/],
  cover: [null, /xdp\.bpf\.c/],
};

let browser, dir;
const bpfrun = args => { try { execFileSync(command, args, {cwd: root, stdio: 'pipe'}); } catch (e) { if (e.status > 5 || e.status === null) throw e; } }; // findings are a status

before(async () => {
  if (missing) return;
  mkdirSync(shots, {recursive: true});
  dir = mkdtempSync(join(tmpdir(), 'bpfrun-reports-'));
  for (const [name, [args]] of Object.entries(reports)) {
    if (args) bpfrun([...args, ...(args[0] === 'fuzz' ? ['--keep', `${dir}/found`] : []), '-o', `html=${dir}/${name}.html`]);
  }
  bpfrun(['test', 'examples/xdp', '--btf', 'embedded', '--btf', oldest, '--cover-out', `json=${dir}/cover.json`]);
  bpfrun(['cover', 'merge', `${dir}/cover.json`, '-o', `html=${dir}/cover.html`]);
  browser = await chromium.launch({executablePath: browserPath, args: ['--no-sandbox']});
});
after(async () => {
  await browser?.close();
  if (dir) rmSync(dir, {recursive: true});
});

// opened opens a page. Nothing may be asked from the network or written to the console.
async function opened(name, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const errors = [];
  page.on('console', m => errors.push(m.text()));
  page.on('pageerror', e => errors.push(String(e)));
  page.on('request', r => { if (!r.url().startsWith('file://')) errors.push(`asks for ${r.url()}`); });
  await page.goto(`file://${dir}/${name}.html`);
  return {page, errors, close: () => context.close()};
}

// broken lists texts that are cut into columns of a few letters, and texts that lie upon others.
const broken = () => {
  const out = [];
  for (const e of document.querySelectorAll('td, .tag, .legend li, summary, h1, h2, h3, button')) {
    const r = e.getBoundingClientRect(), word = Math.max(0, ...e.innerText.split(/[^\p{L}\p{N}]+/u).map(w => w.length));
    if (r.width > 0 && word > 3 && e.innerText.length < 40 && r.height > 5 * parseFloat(getComputedStyle(e).fontSize) && r.width < 45) out.push(`letters below each other: ${e.innerText}`);
  }
  const texts = [...document.querySelectorAll('.ticks')].filter(t => t.getBoundingClientRect().width > 0).flatMap(t => [...t.querySelectorAll('span')].map(s => s.getBoundingClientRect()).filter(r => r.width > 0).map((r, i, all) => i > 0 && r.left < all[i - 1].right && `ticks overlap at ${r.left}`));
  return [...out, ...texts.filter(Boolean)];
};

// contrast returns texts whose colour is less than 3 to 1 from their ground (WCAG asks 4.5 for small text, 3 for large and for marks).
const contrast = () => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = c => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4).reduce((s, x, i) => s + x * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
  const out = new Set();
  for (const e of [...document.querySelectorAll('main *, header *')].slice(0, 4000)) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getBoundingClientRect().width || e.closest('button:disabled')) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 3) out.add(`${((a + 0.05) / (b + 0.05)).toFixed(1)}: ${e.innerText.slice(0, 30)}`);
  }
  return [...out];
};

for (const [name, [, seen]] of Object.entries(reports)) {
  for (const width of [1280, 390]) {
    for (const colorScheme of ['light', 'dark']) {
      test(`${name}, ${width} pixels, ${colorScheme}`, {skip: missing, timeout: 120_000}, async () => {
        const {page, errors, close} = await opened(name, {viewport: {width, height: width === 390 ? 844 : 900}, colorScheme});
        try {
          assert.match(await page.locator('body').innerText(), seen);
          const folded = page.locator('details:not([open])'), all = await folded.count();
          if (all > 0) {
            await folded.locator('> summary').first().click();
            assert.equal(await folded.count(), all - 1, 'a part that was folded is open');
          }
          await page.evaluate(() => { for (const d of document.querySelectorAll('details')) d.open = true; });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `the page is ${wide} wide`);
          assert.deepEqual(await page.evaluate(broken), []);
          assert.deepEqual(await page.evaluate(contrast), []);
          assert.deepEqual(errors, []);
          await page.screenshot({path: `${shots}/report-${name}-${width}-${colorScheme}.png`, clip: {x: 0, y: 0, width, height: Math.min(3000, await page.evaluate(() => document.documentElement.scrollHeight))}, fullPage: true});
        } finally {
          await close();
        }
      });
    }
  }
  test(`${name}, on paper`, {skip: missing, timeout: 120_000}, async () => {
    const {page, close} = await opened(name, {viewport: {width: 1280, height: 900}});
    try {
      await page.emulateMedia({media: 'print'});
      assert.equal(await page.locator('.zoom:visible').count(), 0);
      const pdf = await page.pdf({path: `${shots}/report-${name}.pdf`, format: 'A4', printBackground: true});
      assert.ok(pdf.length > 5000);
    } finally {
      await close();
    }
  });
}

for (const name of ['sched', 'race']) {
  test(`${name}: the timeline is magnified and moved`, {skip: missing, timeout: 120_000}, async () => {
    const {page, errors, close} = await opened(name, {viewport: {width: 1280, height: 900}});
    try {
      const view = page.locator('.view').first(), bar = page.locator('.zoom').first();
      const times = () => view.locator('.whole').first().evaluate(e => e.getBoundingClientRect().width / e.parentElement.getBoundingClientRect().width);
      const part = () => bar.locator('output').innerText();
      await bar.getByRole('button', {name: 'Zoom in'}).click();
      await view.press('+');
      assert.ok(Math.abs(await times() - 4) < 0.01);
      const there = await part();
      assert.match(there, /^[\d.]+( \S+)? to [\d.]+( \S+)?$/);
      await view.press('ArrowRight');
      assert.notEqual(await part(), there);
      const box = await view.boundingBox();
      await page.mouse.move(box.x + 400, box.y + 10);
      await page.keyboard.down('Control');
      await page.mouse.wheel(0, -400);
      await page.keyboard.up('Control');
      await page.waitForFunction(() => { const e = document.querySelector('.whole'); return e.getBoundingClientRect().width / e.parentElement.getBoundingClientRect().width > 8; });
      assert.ok(await view.locator('.whole i').evaluateAll(list => list.some(e => e.textContent && e.getBoundingClientRect().width > 30)), 'parts have their names when there is room');
      assert.deepEqual(await page.evaluate(broken), []);
      await page.screenshot({path: `${shots}/report-${name}-zoomed.png`});
      await view.press('0');
      assert.ok(Math.abs(await times() - 1) < 0.01);
      assert.deepEqual(errors, []);
    } finally {
      await close();
    }
  });
}

test('every page was written', {skip: missing}, () => {
  assert.deepEqual(readdirSync(dir).filter(f => f.endsWith('.html')).sort(), Object.keys(reports).map(n => `${n}.html`).sort());
});
