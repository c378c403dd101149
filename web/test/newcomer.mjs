// How long a newcomer waits in the playground: from its address to the first result, and from there, by clicks, to the first finding.
//
//   BPFRUN=./bpfrun node web/test/newcomer.mjs
import {chromium} from 'playwright-core';
import {browserPath, play, root} from './serve.mjs';

const site = await play(`${root}examples/portmap/portmap.bpf.o`);
const browser = await chromium.launch({executablePath: browserPath, args: ['--no-sandbox']});
const page = await browser.newPage();
const shown = () => page.waitForFunction(() => document.getElementById('main').dataset.view, undefined, {timeout: 120_000});
const began = performance.now();
const at = what => console.log(`${((performance.now() - began) / 1000).toFixed(1)} s  ${what}`);

// click presses what has a name, and waits for the view that follows.
async function click(role, name) {
  await page.evaluate(() => { document.getElementById('main').dataset.view = ''; });
  await page.getByRole(role, {name}).click();
  await shown();
}

try {
  await page.goto(site.url);
  await shown();
  if (!/portmap\.bpf\.o on linux/.test(await page.locator('#main').innerText())) throw new Error('no result');
  at('first result');
  await click('tab', 'Find');
  await click('button', /\(fuzz\)/);
  const found = (await page.locator('#main').innerText()).match(/\d+ findings? in \d+ inputs/);
  if (!found || found[0].startsWith('0 ')) throw new Error('no finding');
  at(`first finding (${found[0]})`);
} finally {
  await browser.close();
  site.close();
}
