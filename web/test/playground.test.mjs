// The playground in a real browser: every view, by what a user sees. Run it with `make browser-test`, or:
//
//   SITE=dist/site BPFRUN=./bpfrun node --test web/test/
//
// SITE is the static site (make site), BPFRUN the command, for bpfrun play; CHROMIUM is the browser if it is not in the usual places. What is
// missing is skipped with a reason. Screenshots are written to web/test/shots.
import assert from 'node:assert/strict';
import {existsSync, mkdirSync, readFileSync} from 'node:fs';
import {after, before, test} from 'node:test';
import {browserPath, command, dir, play, root, serve} from './serve.mjs';

let chromium;
try { ({chromium} = await import('playwright-core')); } catch { /* skipped below */ }
const missing = !chromium ? 'playwright-core is not installed (npm ci in web/test)' : !browserPath ? 'chromium is not installed (apt-get install chromium)' : !existsSync(`${dir}/bpfrun.wasm.gzip`) ? `${dir} has no site (make site)` : false;

let site, browser;
const shots = `${root}web/test/shots`;
const limit = process.env.LIMIT ? `&limit=${process.env.LIMIT}` : ''; // seconds of a message, for machines that do much else

before(async () => {
  if (missing) return;
  mkdirSync(shots, {recursive: true});
  site = await serve(dir);
  browser = await chromium.launch({executablePath: browserPath, args: ['--no-sandbox']});
});
after(async () => {
  await browser?.close();
  site?.close();
});

// view runs a test on a page, which must leave no error on the console. routes change files of the site.
function view(name, hash, run, {options = {}, routes = {}} = {}) {
  test(name, {skip: missing, timeout: 180_000}, async () => {
    const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
    const page = await context.newPage();
    for (const [path, change] of Object.entries(routes)) {
      await context.route(path, async route => { const response = await route.fetch(); await route.fulfill({response, body: change(await response.text())}); });
    }
    const errors = [];
    page.on('console', m => { if (['error', 'warning'].includes(m.type()) && !m.text().includes('blocked by Playwright')) errors.push(m.text()); });
    page.on('pageerror', e => errors.push(String(e)));
    try {
      await page.goto(site.url + hash + limit);
      await shown(page);
      await run(page, context);
      await page.screenshot({path: `${shots}/${name.replaceAll(/\W+/g, '-')}.png`});
      assert.deepEqual(errors, [], 'the console');
    } finally {
      await context.close();
    }
  });
}

// shown waits until a view is complete.
async function shown(page, name) {
  await page.waitForFunction(n => { const v = document.getElementById('main').dataset.view; return n ? v === n : v; }, name, {timeout: 120_000});
}

// choose does something that shows another view, and waits for it.
async function choose(page, act) {
  await page.evaluate(() => { document.getElementById('main').dataset.view = ''; });
  await act();
  await shown(page);
}

const text = page => page.locator('#main').innerText();

view('programs: what each did, typed and foldable', '#example=exec', async page => {
  assert.match(await page.locator('#main h2').first().innerText(), /exec\.bpf\.o on linux-6\.12\.107/);
  const card = page.getByRole('region', {name: 'on_exec'});
  assert.match(await card.innerText(), /ok[\s\S]*returned 0x0/);
  assert.match(await card.innerText(), /1 event[\s\S]*filename \/usr\/bin\//);
  const reads = card.getByText(/reads of kernel memory/);
  const cred = card.getByRole('cell', {name: 'cred', exact: true}).first();
  assert.equal(await cred.isVisible(), false);
  await reads.click();
  assert.equal(await cred.isVisible(), true);
  const map = page.locator('details', {hasText: 'execs_by_uid'}).last();
  assert.match(await map.innerText(), /1 element of at most/);
});

view('the kernel and the object are chosen', '#example=exec', async page => {
  await choose(page, () => page.getByLabel('Kernel', {exact: true}).selectOption('linux-5.10.262-amd64-cloud'));
  assert.match(await text(page), /on linux-5\.10\.262-amd64-cloud/);
  await choose(page, () => page.getByLabel('Object', {exact: true}).selectOption('tc'));
  assert.match(await text(page), /tc\.bpf\.o on linux-5\.10\.262/);
  await choose(page, () => page.goBack());
  assert.match(await text(page), /exec\.bpf\.o on linux-5\.10\.262/);
  await choose(page, () => page.getByLabel('Object', {exact: true}).selectOption('schedfifo'));
  assert.match(await text(page), /schedfifo\.bpf\.o on linux-7\.2\.13[\s\S]*Schedules/);
});

view('packets: an expression is what programs run on', '#example=xdp', async page => {
  const packet = page.getByLabel('Packet', {exact: true});
  await choose(page, async () => { await packet.fill('eth/ip(src=10.1.2.3)/udp(dport=53)'); await packet.press('Enter'); });
  assert.match(await text(page), /XDP_/);
  assert.match(page.url(), /packet=eth/);
  await choose(page, async () => { await packet.fill('eth/ip(src=nonsense'); await packet.press('Enter'); });
  assert.match(await page.getByRole('alert').innerText(), /did not work\. packet:/);
  await choose(page, async () => { await packet.fill('@/etc/passwd'); await packet.press('Enter'); });
  assert.match(await page.getByRole('alert').innerText(), /cannot read files/);
  await choose(page, async () => { await packet.fill(''); await packet.press('Enter'); });
  assert.match(await text(page), /XDP_PASS/);
});

view('code: C and instructions, what ran, CO-RE patches', '#view=code&example=exec', async page => {
  const insns = page.getByRole('group', {name: 'BPF instructions'}), source = page.getByRole('group', {name: 'C source'});
  const patched = insns.locator('.insn', {hasText: 'struct task_struct.cred'}).first();
  assert.match(await patched.innerText(), /\d+ → 2960/);
  assert.ok(await insns.locator('.insn.ran').count() > 50);
  assert.ok(await insns.locator('.insn.missed').count() > 0);
  assert.match(await source.innerText(), /bpf_ringbuf_reserve[\s\S]*\(ran\)/);
  const line = source.locator('.line', {hasText: 'bpf_ringbuf_submit'});
  await line.hover();
  assert.ok(await insns.locator('.insn.lit', {hasText: 'call bpf_ringbuf_submit'}).count() > 0, 'instructions of the line under the pointer');
  await choose(page, () => patched.getByRole('link').click());
  await choose(page, () => page.getByRole('button', {name: 'On all kernels'}).click());
  assert.match(page.url(), /view=kernels.*type=task_struct/);
});

view('code: native code of both processors, without running any', '#view=code&example=exec', async page => {
  await choose(page, () => page.getByLabel('Native code', {exact: true}).selectOption('amd64'));
  const amd = page.getByRole('group', {name: 'x86-64 code'});
  assert.match(await amd.innerText(), /mov r11, rdi/);
  await amd.locator('[data-native="9"]').hover();
  assert.match(await page.locator('.insns .insn.pair[data-pc]').innerText(), /call bpf_probe_read_kernel/);
  await choose(page, () => page.getByLabel('Native code', {exact: true}).selectOption('arm64'));
  assert.match(await page.getByRole('group', {name: 'ARM64 code'}).innerText(), /\bldr?\b|\bmov\b/);
  assert.match(page.url(), /proc=arm64/);
});

view('code: a patch with the structs of object and kernel', '#view=code&example=exec', async page => {
  const insns = page.getByRole('group', {name: 'BPF instructions'});
  assert.match(await insns.locator('.insn', {hasText: 'if r0 == 0'}).first().innerText(), /jumped|both ways/);
  await choose(page, () => insns.getByRole('link', {name: 'struct task_struct.cred'}).first().click());
  assert.match(page.url(), /insn=\d+/);
  const struct = page.getByRole('region', {name: /CO-RE at instruction/});
  assert.match(await struct.innerText(), /struct task_struct\.cred is 40 in the object and 2960 on/);
  assert.match(await struct.locator('tr.chosen').innerText(), /struct cred \*cred\s+40 \(8\)\s+2960 \(8\)/);
  await choose(page, () => struct.getByRole('button', {name: 'Close'}).click());
  assert.equal(await struct.count(), 0);
});

view('code: rows are reached by the keyboard', '#view=code&example=exec', async page => {
  const source = page.getByRole('group', {name: 'C source'});
  await source.locator('[tabindex="0"]').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const row = await page.evaluate(() => document.activeElement.dataset.line);
  assert.match(row, /exec\.bpf\.c:\d+/);
  assert.ok(await page.locator('.insns .insn.lit').count() > 0, 'the instructions of the line with the focus');
});

view('step: why a value is what it is', '#view=step&example=xdp&at=30', async page => {
  await page.locator('.state [data-why="$r1"]').click();
  const why = page.getByRole('region', {name: 'Why $r1'});
  await why.waitFor();
  assert.match(await why.innerText(), /context field xdp_md\.data/);
  assert.match(page.url(), /why=%24r1/);
  await why.getByRole('button', {name: 'filter 2', exact: true}).click();
  await page.waitForFunction(() => document.getElementById('where').textContent !== '30 of 63');
  await page.locator('.state .packet button[data-path="ip.ttl"]').click();
  const ttl = page.getByRole('region', {name: 'Why pkt.ip.ttl'});
  await ttl.waitFor();
  assert.match(await ttl.innerText(), /pkt\.ip\.ttl = /);
  await ttl.getByRole('button', {name: 'Close'}).click();
  assert.equal(await ttl.count(), 0);
});

view('verify: a change that mends a refusal', '#view=verify&example=faults', async page => {
  const card = page.getByRole('region', {name: 'err_null_lookup', exact: true});
  assert.match(await card.locator('.mend').innerText(), /With this change it loads[\s\S]*if \(!/);
});

view('verify: what it costs, by line and instruction', '#view=verify&example=loop', async page => {
  await page.locator('#main summary').first().click();
  await choose(page, () => page.getByRole('button', {name: 'What it costs'}).first().click());
  const costs = page.getByRole('region', {name: 'What the verification costs'});
  assert.match(await costs.innerText(), /\d+ instructions processed, \d+ states? kept/);
  const hot = await costs.locator('.line').evaluateAll(list => list.map(e => [...e.classList].find(c => c.startsWith('heat'))).filter(Boolean));
  assert.ok(new Set(hot).size > 1, `shades of lines: ${hot}`);
  assert.match(await costs.locator('.insn .cost').first().innerText(), /\d+×/);
  await costs.getByText('The last path, with the registers').click();
  assert.match(await costs.innerText(), /R1=ctx|R10=fp0/);
});

view('packets: an expression is drawn, and a field is changed', '#view=packets&example=xdp', async page => {
  const field = page.locator('#expression');
  const ip = page.getByRole('table', {name: /^ip: 20 bytes/});
  assert.match(await ip.innerText(), /ttl\s+64/);
  await choose(page, () => page.locator('.packet button[data-path="ip.ttl"]').click());
  await page.getByLabel('ip.ttl', {exact: true}).fill('9');
  await choose(page, () => page.getByRole('button', {name: 'Change', exact: true}).click());
  assert.match(await field.inputValue(), /ip\(ttl=9\)/);
  assert.match(await ip.innerText(), /ttl\s+9/);
  assert.match(await page.getByRole('region', {name: 'filter'}).innerText(), /XDP_\w+/);
  await choose(page, () => page.getByLabel('Add a header', {exact: true}).selectOption('udp'));
  assert.match(await field.inputValue(), /\/udp$/);
  await field.fill('eth/nonsense(');
  await choose(page, () => field.press('Enter'));
  assert.match(await page.getByRole('alert').innerText(), /packet:/);
});

const racy = `.map counts array 4 8 1
.prog count tc
*(u32 *)(r10 - 4) = 0
r2 = r10
r2 += -4
r1 = map_fd(counts)
call bpf_map_lookup_elem
if r0 == 0 goto out
r1 = *(u64 *)(r0 + 0)
r1 += 1
*(u64 *)(r0 + 0) = r1
out: r0 = 0
exit`;

view('assembly is typed, run, and searched for races; a link has it', '#example=exec', async (page, context) => {
  await page.getByRole('button', {name: 'Type assembly'}).click();
  const field = page.locator('#asm');
  assert.match(await field.inputValue(), /\.prog count xdp/);
  await choose(page, () => page.getByRole('button', {name: 'Run it'}).click());
  assert.match(await text(page), /typed\.o on linux[\s\S]*XDP_PASS/);
  await field.fill('r0 = 1\nr1 == 2');
  await choose(page, () => page.getByRole('button', {name: 'Run it'}).click());
  assert.match(await page.getByRole('alert').innerText(), /line 2/);
  await field.fill(racy);
  await choose(page, () => page.getByRole('button', {name: 'Run it'}).click());
  await choose(page, () => page.getByRole('tab', {name: 'Code'}).click());
  assert.match(await page.getByRole('group', {name: 'C source'}).innerText(), /call bpf_map_lookup_elem/);
  await choose(page, () => page.getByRole('tab', {name: 'Find'}).click());
  await choose(page, () => page.getByRole('button', {name: /\(race\)/}).click());
  assert.match(await text(page), /[1-9]\d* findings? in \d+ orders/);
  assert.match(await text(page), /lost[\s\S]*in this order/i);
  assert.ok(await page.locator('.view .whole i').count() > 1);
  const other = await context.newPage();
  await other.goto(page.url());
  await shown(other, 'find');
  assert.equal(await text(other), await text(page));
});

view('find: without a budget the search goes on until it finds something', '#view=find&example=portmap&program=', async page => {
  await page.evaluate(() => { performance.now = () => 0; }); // patience would end on a busy machine
  await choose(page, () => page.getByRole('button', {name: /\(fuzz\)/}).click());
  assert.match(await text(page), /[1-9]\d* findings? in \d+ inputs/);
  assert.match(page.url(), /find=fuzz.*runs=\d+/);
}, {options: {}, routes: {}});

view('find: inputs are tried within a budget', '#view=find&example=xdp', async page => {
  await page.getByLabel('Budget', {exact: true}).fill('300');
  await choose(page, () => page.getByRole('button', {name: /\(fuzz\)/}).click());
  assert.match(await text(page), /\d+ findings? in 3\d\d inputs/);
  assert.match(await page.getByRole('table', {name: /How far it got/}).innerText(), /filter\s+\d+\s+\d+ of \d+/);
  assert.match(page.url(), /find=fuzz.*runs=300/);
});

// zooms checks that a timeline is magnified and moved by buttons, keys, the wheel, and by dragging it.
async function zooms(page, drawn) {
  const bar = page.getByRole('group', {name: /^Zoom: /}).first();
  const part = () => bar.locator('output').innerText();
  const width = () => drawn.locator('.whole').first().evaluate(e => e.getBoundingClientRect().width / e.parentElement.getBoundingClientRect().width);
  await bar.getByRole('button', {name: 'Zoom in'}).click();
  assert.ok(Math.abs(await width() - 2) < 0.01);
  const middle = await part();
  assert.match(middle, /^[\d.]+ \S+ to [\d.]+ \S+$/);
  await bar.getByRole('button', {name: 'Earlier'}).click();
  const early = await part();
  assert.notEqual(early, middle);
  assert.match(early, /^0/);
  assert.ok(await bar.getByRole('button', {name: 'Earlier'}).isDisabled());
  await drawn.focus();
  await page.keyboard.press('+');
  assert.ok(Math.abs(await width() - 4) < 0.01);
  await page.keyboard.press('End');
  const late = await part();
  await page.keyboard.press('ArrowLeft');
  assert.notEqual(await part(), late);
  const box = await drawn.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 10);
  const before = await part();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 60, box.y + 10, {steps: 3});
  await page.mouse.up();
  assert.notEqual(await part(), before);
  const was = await width();
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -200);
  await page.keyboard.up('Control');
  await page.waitForFunction(([e, w]) => e.getBoundingClientRect().width / e.parentElement.getBoundingClientRect().width > w * 1.5, [await drawn.locator('.whole').first().elementHandle(), was]);
  await bar.getByRole('button', {name: 'The whole timeline'}).click();
  assert.ok(Math.abs(await width() - 1) < 0.01);
  assert.equal(await part(), '');
}

view('a schedule is drawn: who ran where', '#example=schedfifo&kernel=linux-7.2.13-amd64', async page => {
  const drawn = page.getByRole('img', {name: /turns of \d+ tasks on \d+ CPU/});
  assert.ok(await drawn.locator('.whole i').count() > 3);
  await zooms(page, drawn);
  assert.match(await page.getByRole('table', {name: 'Tasks'}).innerText(), /task\s+ran\s+waited/);
});

view('step: both ways, with registers, stack, variables and maps', '#view=step&example=xdp', async page => {
  const slider = page.getByRole('slider', {name: 'Instructions executed'});
  const where = page.locator('#where');
  await page.waitForFunction(() => document.getElementById('where').textContent === '0 of 63');
  const start = await page.locator('.state').innerText();
  assert.match(start, /Registers[\s\S]*r1[\s\S]*xdp_md/);
  await slider.press('ArrowRight');
  await page.waitForFunction(() => document.getElementById('where').textContent === '1 of 63');
  await slider.press('End');
  await page.waitForFunction(() => document.getElementById('where').textContent === '63 of 63');
  const end = await page.locator('.state').innerText();
  assert.match(end, /ended[\s\S]*XDP_PASS/);
  assert.match(end, /verdicts/);
  await page.getByRole('button', {name: 'One instruction back'}).click();
  await page.waitForFunction(() => document.getElementById('where').textContent === '62 of 63');
  assert.equal(await page.locator('.insn.here').count(), 1);
  assert.ok(await page.locator('.insn.here').isVisible());
  assert.match(page.url(), /at=62/);
  await page.getByRole('button', {name: 'To the start'}).click();
  await page.waitForFunction(() => document.getElementById('where').textContent === '0 of 63');
  await page.waitForFunction(was => document.querySelector('.state').innerText === was, start);
  assert.match(await where.innerText(), /0 of 63/);
  await slider.evaluate(e => { e.value = 20; e.dispatchEvent(new Event('input')); });
  await page.waitForFunction(() => document.getElementById('where').textContent === '20 of 63');
  assert.match(await page.locator('.state').innerText(), /Variables[\s\S]*key[\s\S]*prefixlen = 32/);
  assert.match(await page.locator('.state').innerText(), /Stack[\s\S]*r10-16/);
});

view('verify: the refusal and what it means', '#view=verify&example=faults', async page => {
  assert.match(await text(page), /21 programs: 4 accepted, 17 refused, 0 unknown/);
  const card = page.getByRole('region', {name: 'err_null_lookup'});
  const said = await card.innerText();
  assert.match(said, /refused/);
  assert.match(said, /R0 invalid mem access 'map_value_or_null' \(EACCES\)/);
  assert.match(said, /Why/);
  assert.match(said, /faults\.bpf\.c:75/);
  assert.match(said, /How the register got there[\s\S]*bpf_map_lookup_elem/);
});

view('kernels: the matrix and the layout of a struct', '#view=kernels&example=exec&type=task_struct', async page => {
  const matrix = page.getByRole('table', {name: /compared with linux-6\.12\.107/});
  assert.equal(await matrix.getByRole('columnheader').count(), 5);
  await matrix.getByRole('row', {name: /on_exec/}).getByRole('button').nth(1).click();
  assert.match(await page.locator('#detail').innerText(), /on_exec on linux-5\.10\.262.*: \w+/);
  assert.equal(await page.locator('svg.layout .label').count(), 4);
  assert.ok(await page.locator('svg.layout .member').count() > 400);
  assert.match(await page.locator('table.members').innerText(), /struct cred \*cred/);
  const type = page.getByLabel('Type', {exact: true});
  await choose(page, async () => { await type.fill('list_head'); await type.press('Enter'); });
  assert.match(await text(page), /0 of 2 members moved/);
  await page.getByLabel('Only what differs', {exact: true}).check();
  assert.equal(await page.locator('table.members tbody tr:visible').count(), 0);
  await choose(page, async () => { await page.getByLabel('Type', {exact: true}).fill('no_such_struct'); await page.getByLabel('Type', {exact: true}).press('Enter'); });
  assert.match(await text(page), /no_such_struct/);
});

view('a link shows what the sender saw', '#view=code&example=fentry&kernel=linux-7.2.13-amd64', async (page, context) => {
  const other = await context.newPage();
  await other.goto(page.url());
  await shown(other, 'code');
  assert.equal(await text(other), await text(page));
});

view('a file is opened, and its link has the object', '#example=xdp', async (page, context) => {
  await choose(page, () => page.getByLabel('Open a file', {exact: true}).setInputFiles(`${root}examples/lsm/lsm.bpf.o`));
  assert.match(await text(page), /lsm\.bpf\.o on/);
  assert.match(page.url(), /object=/);
  const other = await context.newPage();
  await other.goto(page.url());
  await shown(other, 'programs');
  assert.equal(await text(other), await text(page));
  await choose(page, () => page.getByLabel('Add BTF', {exact: true}).setInputFiles(`${root}testdata/btf/min/linux-6.18.44-amd64.min.btf`));
  assert.match(await text(page), /lsm\.bpf\.o on linux-6\.18\.44-amd64\.min/);
});

view('hostile files are errors, and the page goes on', '#example=exec', async page => {
  const object = readFileSync(`${root}examples/exec/exec.bpf.o`);
  const damaged = Buffer.from(object);
  for (let i = 64; i < damaged.length; i += 97) damaged[i] ^= 0xff;
  for (const [name, buffer] of [['cut.o', object.subarray(0, 3000)], ['noise.btf', Buffer.alloc(5000, 'x')], ['empty.o', Buffer.alloc(0)], ['<img src=x onerror=alert(1)>.o', damaged]]) {
    await page.getByLabel('Open a file', {exact: true}).setInputFiles({name, mimeType: 'application/octet-stream', buffer});
    await page.getByRole('alert').or(page.locator('#main[aria-busy=false] h2')).first().waitFor();
    assert.equal(await page.locator('img[src=x]').count(), 0);
  }
  await choose(page, () => page.getByLabel('Object', {exact: true}).selectOption('xdp'));
  assert.match(await text(page), /XDP_PASS/);
});

view('what takes too long is stopped, and bpfrun starts again', '#example=xdp', async page => {
  await choose(page, () => page.evaluate(() => { location.hash = 'view=kernels&example=firewall&limit=0.02'; }));
  assert.match(await page.getByRole('alert').innerText(), /Stopped\..*longer than 0\.02 s/);
  await choose(page, () => page.getByRole('button', {name: 'Try again with 60 seconds'}).click());
  assert.match(await text(page), /All kernels[\s\S]*compared with/);
});

// Memory is 4 GiB at most, which no committed object uses up: here bpfrun ends as it does then, at the first verify.
view('when memory is used up, bpfrun starts again', '#example=exec', async page => {
  await choose(page, () => page.getByRole('tab', {name: 'Verify'}).click());
  assert.match(await page.getByRole('alert').innerText(), /bpfrun stopped: it ran out of memory/);
  await choose(page, () => page.getByRole('tab', {name: 'Code'}).click());
  assert.match(await text(page), /bpf_ringbuf_reserve/);
}, {options: {serviceWorkers: 'block'}, routes: {'**/worker.js': source => source.replace('if (go.exited)', 'if (new TextDecoder().decode(data.bytes).includes(\'"do":"verify"\'))')}});

view('programs: numbers of 64 bits as the command prints them', '#example=exec', async page => {
  const card = page.getByRole('region', {name: 'on_exec'});
  assert.match(await card.innerText(), /when 3600000010000/);
  assert.doesNotMatch(await text(page), /"0x/);
});

view('a link to an example that does not exist says so', '#example=nosuch&view=code', async page => {
  assert.match(await page.getByRole('alert').innerText(), /no example nosuch/);
  await choose(page, () => page.getByLabel('Object', {exact: true}).selectOption('exec'));
  assert.match(await text(page), /execs_by_uid/);
});

view('a link to an object that is too large for it says so', '#name=large.bpf.o', async page => {
  assert.match(await page.getByRole('alert').innerText(), /large\.bpf\.o is too large to be part of a link/);
});

view('code: lines keep their indentation, and their shade is as wide as the text', '#example=exec&view=code', async page => {
  const line = page.locator('.line', {hasText: '__sync_fetch_and_add'});
  assert.match(await line.locator('code').evaluate(e => e.textContent), /^ {8}__sync/);
  const [inside, row] = await page.locator('.source').evaluate(e => [e.scrollWidth, e.querySelector('.line').getBoundingClientRect().width]);
  assert.ok(inside - row < 20, `a row of ${row} in ${inside}`);
});

view('keyboard: what had the focus has it after the page changed', '#example=exec', async page => {
  const focused = () => page.evaluate(() => document.activeElement.id);
  await page.getByRole('button', {name: 'Step through it'}).focus();
  await choose(page, () => page.keyboard.press('Enter'));
  assert.equal(await focused(), 'at');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => document.getElementById('where').textContent.startsWith('1 of'));
  await page.locator('summary', {hasText: 'Maps'}).click();
  await page.locator('#at').focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => document.getElementById('where').textContent.startsWith('2 of'));
  assert.equal(await page.locator('details[data-name=maps]').evaluate(e => e.open), false);
});

view('keyboard: tabs by arrows, results by a link', '#example=exec', async page => {
  await page.getByRole('tab', {name: 'Programs'}).focus();
  await choose(page, () => page.keyboard.press('ArrowRight'));
  assert.equal(await page.getByRole('tab', {name: 'Code'}).getAttribute('aria-selected'), 'true');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-code');
  await choose(page, () => page.keyboard.press('End'));
  assert.match(await text(page), /All kernels/);
  const unnamed = await page.evaluate(() => [...document.querySelectorAll('button, a[href], input, select, textarea')].filter(e => !(e.innerText?.trim() || e.getAttribute('aria-label') || e.labels?.length || e.title)).map(e => e.outerHTML));
  assert.deepEqual(unnamed, [], 'controls without a name');
});

for (const [name, hash] of [['programs', 'example=exec'], ['code', 'view=code&example=exec'], ['step', 'view=step&example=xdp&at=20'], ['native', 'view=code&example=exec&proc=amd64&insn=3'], ['why', 'view=step&example=xdp&at=30&why=%24r1'], ['verify', 'view=verify&example=faults'], ['costs', 'view=verify&example=loop&program=on_exit'], ['packets', 'view=packets&example=xdp&field=ip.ttl'], ['find', 'view=find&example=xdp&find=race&runs=50'], ['schedule', 'example=schedfifo&kernel=linux-7.2.13-amd64'], ['kernels', 'view=kernels&example=exec']]) {
  view(`phone, dark: ${name}`, `#${hash}`, async page => {
    const size = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(size[0] <= size[1], `the page is ${size[0]} wide on a screen of ${size[1]}`);
    const [r, g, b] = (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g).map(Number);
    assert.ok(r + g + b < 200, 'dark');
  }, {options: {viewport: {width: 390, height: 844}, colorScheme: 'dark'}});
}

view('without a network', '#example=exec', async (page, context) => {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload(); // now by the service worker, which keeps what passes
  await shown(page);
  await context.setOffline(true);
  await page.reload();
  await shown(page);
  assert.match(await text(page), /exec\.bpf\.o on linux-6\.12/);
  await context.setOffline(false);
});

view('the documentation is there, with a search', '#example=exec', async page => {
  await page.getByRole('link', {name: 'Documentation'}).click();
  await page.getByRole('heading', {name: 'Documentation'}).waitFor();
  await page.getByLabel('Search', {exact: true}).fill('tail calls');
  await page.locator('#found li').first().waitFor();
  assert.match(await page.locator('#found').innerText(), /\d+ sections/);
  await page.locator('#found a').first().click();
  await page.locator('main h1').first().waitFor();
});

view('the documentation: since which release a kfunc exists', '#example=exec', async page => {
  await page.goto(`${site.url}docs/releases.html`);
  await page.getByLabel('Filter this page').fill('bpf_task_from_vpid');
  await page.getByText(/^\d+ entries on this page$/).waitFor();
  const row = page.getByRole('row', {name: /bpf_task_from_vpid kfunc \d+\.\d+/});
  assert.ok(await row.isVisible());
  assert.equal(await page.getByRole('row', {name: /bpf_map_lookup_elem/}).filter({visible: true}).count(), 0);
  assert.equal(await page.getByRole('heading', {name: 'Linux 5.16'}).isVisible(), false);
  await page.getByLabel('Filter this page').fill('');
  await page.getByRole('heading', {name: 'Linux 5.16'}).waitFor();
  await page.goto(`${site.url}docs/helpers.html`);
  const maps = page.locator('details').filter({hasText: 'bpf_map_lookup_percpu_elem'});
  await maps.locator('summary').click();
  assert.ok(await maps.getByRole('row', {name: /bpf_map_lookup_percpu_elem/}).isVisible());
});

view('assembly: maps have contents, in every view', '#example=exec', async page => {
  await page.getByRole('button', {name: 'Type assembly'}).click();
  await page.locator('#asm').fill('.map limits hash 4 8 4\n.elem limits 80 100\n.prog look xdp\n*(u32 *)(r10 - 4) = 80\nr2 = r10\nr2 += -4\nr1 = map_fd(limits)\ncall bpf_map_lookup_elem\nif r0 == 0 goto none\nr0 = 1\nexit\nnone: r0 = 2\nexit');
  await choose(page, () => page.getByRole('button', {name: 'Run it'}).click());
  assert.match(await text(page), /XDP_DROP/);
  await choose(page, () => page.getByRole('tab', {name: 'Step'}).click());
  await page.getByRole('button', {name: 'To the end'}).click();
  await page.waitForFunction(() => /XDP_DROP/.test(document.querySelector('.state').innerText));
  assert.match(await page.locator('.state').innerText(), /limits[\s\S]*64/);
});

view('assembly: functions of the kernel are called by name', '#example=exec', async page => {
  await page.getByRole('button', {name: 'Type assembly'}).click();
  await page.locator('#asm').fill('.prog locked tp_btf/sched_switch\ncall bpf_rcu_read_lock\ncall bpf_rcu_read_unlock\nr0 = 0\nexit');
  await choose(page, () => page.getByRole('button', {name: 'Run it'}).click());
  assert.match(await text(page), /called bpf_rcu_read_lock, bpf_rcu_read_unlock/);
  await page.locator('#asm').fill('call bpf_no_such_function\nexit');
  await choose(page, () => page.getByRole('button', {name: 'Run it'}).click());
  assert.match(await page.getByRole('alert').innerText(), /no such helper, and no function of the kernel/);
});

view('traffic of a queueing discipline is drawn', '#example=qdiscfair&kernel=linux-7.2.13-amd64', async page => {
  const card = page.getByRole('region', {name: /^traffic of/});
  assert.ok(await card.getByRole('img', {name: /packets from arrival to the link/}).locator('.whole i').count() > 20);
  assert.ok(await card.getByRole('img', {name: /length of the queue/}).isVisible());
  assert.match(await card.getByRole('table', {name: 'Flows'}).innerText(), /voice/);
});

test('times', {skip: missing}, async t => {
  const page = await browser.newPage();
  await page.goto(`${site.url}#example=xdp`);
  await shown(page);
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  const loaded = await page.evaluate(() => performance.now());
  const run = [];
  for (const example of ['exec', 'tc', 'lsm', 'fentry', 'firewall', 'iter', 'nat']) {
    await choose(page, () => page.getByLabel('Object', {exact: true}).selectOption(example));
    run.push([example, Number((await page.locator('#status').innerText()).match(/(\d+) ms/)[1])]);
  }
  t.diagnostic(`first paint ${Math.round(paint)} ms; first result ${Math.round(loaded)} ms; then ${run.map(([e, ms]) => `${e} ${ms} ms`).join(', ')}`);
  assert.ok(paint < 5000);
  await page.close();
});

test('bpfrun play: the same page with the native engine', {skip: missing || (!existsSync(command) && `${command} is not built (make build)`), timeout: 120_000}, async () => {
  const {url, close} = await play(`${root}examples/nat/nat.bpf.o`, '--btf', `${root}testdata/btf/linux-7.2.13-amd64.btf.xz`);
  try {
    const page = await browser.newPage();
    const errors = [];
    page.on('console', m => { if (['error', 'warning'].includes(m.type())) errors.push(m.text()); });
    page.on('pageerror', e => errors.push(String(e)));
    await page.goto(url);
    await shown(page);
    assert.match(await text(page), /nat\.bpf\.o on linux-6\.12\.107/);
    for (const name of ['Code', 'Step', 'Verify', 'Packets', 'Find', 'Kernels']) await choose(page, () => page.getByRole('tab', {name}).click());
    assert.match(await text(page), /7\.2\.13/);
    await choose(page, () => page.getByLabel('Open a file', {exact: true}).setInputFiles(`${root}examples/tc/tc.bpf.o`));
    await choose(page, () => page.getByRole('tab', {name: 'Programs'}).click());
    assert.match(await text(page), /tc\.bpf\.o on/);
    assert.deepEqual(errors, [], 'the console');
    const stranger = await browser.newPage();
    await stranger.goto(url.replace(/token=\w+/, 'token=wrong'));
    await stranger.getByRole('alert').waitFor();
    assert.match(await stranger.getByRole('alert').innerText(), /site\.json: 403/);
    await page.close();
    await stranger.close();
  } finally {
    close();
  }
});
