// The debug adapter, spoken to as VS Code does: with the launch configurations that the manifest offers.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const [debuggerOf] = createRequire(import.meta.url)('../package.json').contributes.debuggers;

// client starts the adapter as the manifest says.
function client() {
  const child = spawn(process.env.BPFRUN || debuggerOf.runtime, debuggerOf.args, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = [];
  const messages = [];
  let data = Buffer.alloc(0);
  let seq = 0;
  const deliver = () => {
    for (let i = 0; i < waiting.length; i++) {
      const n = messages.findIndex(waiting[i].want);
      if (n >= 0) {
        waiting.splice(i--, 1)[0].resolve(messages.splice(n, 1)[0]);
      }
    }
  };
  child.stdout.on('data', (more) => {
    data = Buffer.concat([data, more]);
    for (;;) {
      const head = /^Content-Length: (\d+)\r\n\r\n/.exec(data.subarray(0, 100).toString());
      if (!head || data.length < head[0].length + Number(head[1])) break;
      messages.push(JSON.parse(data.subarray(head[0].length, head[0].length + Number(head[1]))));
      data = data.subarray(head[0].length + Number(head[1]));
    }
    deliver();
  });
  const next = (want) => new Promise((resolve) => { waiting.push({ want, resolve }); deliver(); });
  return {
    child,
    event: (name) => next((m) => m.type === 'event' && m.event === name),
    async request(command, args) {
      const text = JSON.stringify({ seq: ++seq, type: 'request', command, arguments: args });
      const mine = seq;
      child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
      const answer = await next((m) => m.type === 'response' && m.request_seq === mine);
      assert.ok(answer.success, `${command}: ${answer.message}`);
      return answer.body;
    },
  };
}

for (const [name, config] of [
  ['the configuration of a new launch.json', { ...debuggerOf.initialConfigurations[0], object: 'examples/tp_btf/tp_btf.bpf.o', prog: 'on_wakeup' }],
  ['a run of a scenario', { ...debuggerOf.configurationSnippets[1].body, object: 'examples/tp_btf/tp_btf.bpf.o', scenario: 'examples/tp_btf/tp_btf.yaml', name: 'wakes', prog: 'wakes', stopOnEntry: true }],
]) {
  test(`${name} starts, steps forwards and back, and ends`, { timeout: 120000 }, async () => {
    const c = client();
    try {
      const can = await c.request('initialize', { adapterID: debuggerOf.type, linesStartAt1: true, columnsStartAt1: true, pathFormat: 'path' });
      assert.ok(can.supportsStepBack);
      const launched = c.request('launch', config);
      await c.event('initialized');
      const { breakpoints } = await c.request('setBreakpoints', { source: { path: path.join(root, 'examples/tp_btf/tp_btf.bpf.c') }, breakpoints: [{ line: 44 }] });
      assert.ok(breakpoints[0].verified);
      await c.request('configurationDone', {});
      await launched;
      const { body: stop } = await c.event('stopped');
      const frame = async () => (await c.request('stackTrace', { threadId: stop.threadId })).stackFrames[0];
      const entry = await frame();
      await c.request('continue', { threadId: stop.threadId });
      await c.event('stopped');
      assert.equal((await frame()).line, 44);
      await c.request('reverseContinue', { threadId: stop.threadId });
      await c.event('stopped');
      assert.equal((await frame()).line, entry.line);
      await c.request('disconnect', {});
    } finally {
      c.child.kill();
    }
  });
}
