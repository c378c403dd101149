// The extension in VS Code itself, installed from its package and driven in a browser: what a user sees and clicks.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import core from '../lib/core.js';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../../..');
const command = process.env.BPFRUN ?? path.join(root, 'bpfrun');
const browserPath = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => p && existsSync(p));
const entry = path.join(here, 'node_modules/code-server/out/node/entry.js');
const slow = Number(process.env.SLOW ?? 120) * 1000; // milliseconds that a click may take on a busy machine

const work = mkdtempSync(path.join(tmpdir(), 'bpfrun-editor-'));
const folder = path.join(work, 'project');
const dirs = ['--extensions-dir', path.join(work, 'extensions'), '--user-data-dir', path.join(work, 'data'), '--config', path.join(work, 'config.yaml')];
let server, browser, page;

async function freePort() {
  const s = createServer();
  await new Promise((resolve) => s.listen(0, '127.0.0.1', resolve));
  const { port } = s.address();
  await new Promise((resolve) => s.close(resolve));
  return port;
}

before(async () => {
  for (const [from, to] of [
    ['examples/tp_btf', 'tp_btf'],
    ['testdata/src/refused.bpf.c', 'refused/refused.bpf.c'],
    ['testdata/objects/clang-14/refused.o', 'refused/refused.bpf.o'],
  ]) cpSync(path.join(root, from), path.join(folder, to), { recursive: true });
  for (const dir of ['User', 'Machine']) mkdirSync(path.join(work, 'data', dir), { recursive: true });
  writeFileSync(path.join(work, 'config.yaml'), 'auth: none\n');
  writeFileSync(path.join(work, 'data/Machine/settings.json'), JSON.stringify({ 'bpfrun.path': command }));
  writeFileSync(path.join(work, 'data/User/settings.json'), JSON.stringify({
    'bpfrun.btf': ['embedded'], 'workbench.startupEditor': 'none', 'telemetry.telemetryLevel': 'off', 'editor.minimap.enabled': false,
    'testing.automaticallyOpenTestResults': 'neverOpen',
  }));
  const vsix = path.join(work, 'bpfrun.vsix');
  for (const [cmd, args, cwd] of [
    ['npm', ['run', '--silent', 'package', '--', '-o', vsix], path.join(here, '..')],
    [process.execPath, [entry, ...dirs, '--install-extension', vsix], here],
  ]) {
    const r = spawnSync(cmd, args, { cwd, encoding: 'utf8' });
    assert.equal(r.status, 0, `${cmd}: ${r.stdout}${r.stderr}`);
  }
  const port = await freePort();
  server = spawn(process.execPath, [entry, ...dirs, '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check', '--disable-workspace-trust', folder], { cwd: here });
  await new Promise((resolve, reject) => {
    let out = '';
    const seen = (d) => { if ((out += d).includes('HTTP server listening')) resolve(); };
    server.stdout.on('data', seen);
    server.stderr.on('data', seen);
    server.on('exit', (code) => reject(new Error(`code-server ended with ${code}: ${out}`)));
  });
  browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
  page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  page.setDefaultTimeout(slow);
  await page.goto(`http://127.0.0.1:${port}/?folder=${folder}`, { timeout: slow });
  await page.locator('.monaco-workbench').waitFor();
});
after(async () => {
  await browser?.close();
  server?.removeAllListeners('exit');
  server?.kill();
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
});

// step runs a test; what VS Code told the user meanwhile is in its error. SHOTS is where pictures go.
function step(name, run) {
  test(name, { timeout: 4 * slow }, async () => {
    try {
      await run();
    } catch (err) {
      await page.keyboard.press('F1');
      await page.locator('.quick-input-widget input').fill('>Notifications: Show Notifications');
      await page.keyboard.press('Enter');
      await page.waitForTimeout(1000);
      err.message += `\nmessages: ${(await page.locator('.notifications-center .notification-list-item-message').allInnerTexts()).join('\n')}`;
      throw err;
    } finally {
      if (process.env.SHOTS) await page.screenshot({ path: path.join(process.env.SHOTS, `${name.replaceAll(/\W+/g, '-')}.png`) });
    }
  });
}

// tree returns a row of a tree by the start of its label.
const row = (label) => page.locator(`.monaco-list-row[aria-label^="${label}"]`).first();

// open shows a file at its first program.
async function open(dir, file) {
  await page.keyboard.press('Control+Shift+E');
  await row(dir).waitFor();
  if ((await row(dir).getAttribute('aria-expanded')) !== 'true') await row(dir).click();
  await row(file).dblclick();
  await page.locator(`.tab.active[data-resource-name="${file}"]`).waitFor();
  await page.keyboard.press('Control+G');
  await page.keyboard.type(String(core.programs(readFileSync(path.join(folder, dir, file), 'utf8'))[0].line + 1));
  await page.keyboard.press('Enter');
}

const lens = (title) => page.locator('.codelens-decoration a:visible', { hasText: title }).first();

step('run, debug and verify stand at SEC()', async () => {
  await open('tp_btf', 'tp_btf.bpf.c');
  await lens('run').waitFor();
  const lenses = await page.locator('.codelens-decoration:visible').first().innerText();
  assert.match(lenses.replaceAll(/\s+/g, ' '), /run.*debug.*verify/);
});

step('hints show where fields are on the kernel', async () => {
  await page.locator('.view-line', { hasText: /@\s\d+/ }).first().waitFor();
  const lines = await page.locator('.view-line').allInnerTexts();
  assert.ok(lines.some((l) => /task_struct\.\w+ @ \d+/.test(l.replaceAll('\u00a0', ' '))), lines.join('\n'));
});

step('run prints what the program did in the terminal', async () => {
  await lens('run').click();
  await page.locator('.terminal-tabs-entry, .terminal-wrapper').first().waitFor();
  await page.locator('.xterm').first().waitFor();
  await page.keyboard.press('Control+Backquote');
  await page.locator('.statusbar').waitFor();
});

step('verify marks the line that the kernel refuses, and says why', async () => {
  await open('refused', 'refused.bpf.c');
  await lens('verify').click();
  await page.locator('.squiggly-error').first().waitFor();
  await page.keyboard.press('Control+Shift+M');
  const problem = page.locator('.markers-panel .monaco-list-row', { hasText: 'bpfrun verify' }).first();
  await problem.waitFor();
  assert.match(await problem.innerText(), /R\d|invalid|unbounded|map_value/);
});

step('the test explorer has the scenario, and running it passes', async () => {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').fill('>View: Show Testing');
  await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Show Testing' }).first().click();
  await row('tp_btf').waitFor();
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').fill('>Test: Run All Tests');
  await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Run All Tests' }).first().click();
  await page.locator('.monaco-list-row[aria-label*="(Passed)"]').first().waitFor();
  assert.equal(await page.locator('.monaco-list-row[aria-label*="(Failed)"]').count(), 0);
});

step('debug stops at the first instruction with registers', async () => {
  await open('tp_btf', 'tp_btf.bpf.c');
  await lens('debug').click();
  await page.locator('.debug-toolbar').waitFor();
  await page.locator('.debug-top-stack-frame-line, .debug-top-stack-frame').first().waitFor();
  await page.locator('.debug-call-stack .monaco-list-row').first().waitFor();
  await page.locator('.debug-view-content .monaco-list-row', { hasText: /Registers/i }).first().waitFor();
  await page.locator('.debug-toolbar [aria-label^="Stop"]').first().click();
  await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
});
