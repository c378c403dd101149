// The two servers of the playground: one of the files in a directory, on loopback, and bpfrun play. With the paths and the browser of the tests.
import {spawn} from 'node:child_process';
import {existsSync} from 'node:fs';
import {createServer} from 'node:http';
import {readFile} from 'node:fs/promises';
import {extname, join, normalize} from 'node:path';

const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml', '.webmanifest': 'application/manifest+json'};

export const root = new URL('../../', import.meta.url).pathname;
export const dir = process.env.SITE ?? `${root}dist/site`;
export const command = process.env.BPFRUN ?? `${root}bpfrun`;
export const browserPath = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(p => p && existsSync(p));

// play starts bpfrun play.
export async function play(...args) {
  const child = spawn(command, ['play', '--no-open', ...args]);
  const url = await new Promise((resolve, reject) => {
    let out = '';
    child.stdout.on('data', d => { const m = (out += d).match(/is at (\S+)\n/); if (m) resolve(m[1]); });
    child.stderr.on('data', d => { out += d; });
    child.on('error', reject);
    child.on('exit', code => reject(new Error(`bpfrun play ended with ${code}: ${out}`)));
  });
  return {url, close: () => child.kill('SIGINT')};
}

// serve starts a server of the files in a directory.
export async function serve(dir) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname)).replace(/\/$/, '/index.html');
    try {
      const data = await readFile(join(dir, path));
      response.writeHead(200, {'Content-Type': types[extname(path)] ?? 'application/octet-stream'});
      response.end(data);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return {url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close()};
}
