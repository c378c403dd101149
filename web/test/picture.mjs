// The picture of the playground in README.md: make picture, or
//
//   BPFRUN=./bpfrun node web/test/picture.mjs           writes docs/images/playground.png
//   BPFRUN=./bpfrun node web/test/picture.mjs DIR       writes every view, wide and narrow, light and dark, to look at after a change of the page
//
import {mkdirSync} from 'node:fs';
import {chromium} from 'playwright-core';
import {browserPath, play, root} from './serve.mjs';

const views = {
  programs: 'view=programs&example=exec', code: 'view=code&example=exec', step: 'view=step&example=xdp&at=30',
  verify: 'view=verify&example=faults', kernels: 'view=kernels&example=exec', found: 'view=programs&example=portmap',
};
const dir = process.argv[2];
const {url, close} = await play('--btf', `${root}testdata/btf/linux-7.2.13-amd64.btf.xz`);
const browser = await chromium.launch({executablePath: browserPath, args: ['--no-sandbox']});

async function shot(hash, path, options, fullPage) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(`${url}#${hash}`);
  await page.waitForFunction(() => document.getElementById('main').dataset.view, undefined, {timeout: 120_000});
  await page.screenshot({path, fullPage});
  await context.close();
  console.log(path);
}

try {
  if (!dir) {
    await shot(views.step, `${root}docs/images/playground.png`, {viewport: {width: 1280, height: 860}, colorScheme: 'light'}, false);
  } else {
    mkdirSync(dir, {recursive: true});
    for (const [view, hash] of Object.entries(views)) {
      for (const [width, height] of [[1280, 900], [390, 844]]) {
        for (const colorScheme of ['light', 'dark']) await shot(hash, `${dir}/${view}-${width}-${colorScheme}.png`, {viewport: {width, height}, colorScheme}, width === 390);
      }
    }
  }
} finally {
  await browser.close();
  close();
}
