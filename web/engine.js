// What answers messages (see package play): a worker with bpfrun in WebAssembly, or the server that the page is from.

// Failure is the error of an answer.
export class Failure extends Error {
  constructor(error) {
    super(error.message);
    this.kind = error.kind;
  }
}

function result(answer) {
  if (answer.error) throw new Failure(answer.error);
  return answer.result;
}

// base64 encodes bytes as messages carry them.
export function base64(bytes) {
  if (bytes.toBase64) return bytes.toBase64();
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

// WorkerEngine runs bpfrun in a Web Worker. A message that takes too long, or all memory, ends the worker; the next one starts another, to which
// generation tells the caller to give its files again.
export class WorkerEngine {
  constructor() {
    this.generation = 0;
    this.next = 1;
    this.waiting = new Map();
    this.queue = Promise.resolve();
  }

  start() {
    this.generation++;
    this.worker = new Worker(new URL('worker.js', import.meta.url), {type: 'module'});
    this.ready = new Promise((resolve, reject) => {
      this.worker.onmessage = ({data}) => {
        if (data.ready) return resolve();
        if (data.failed) {
          reject(new Error(data.failed));
          return this.stop(); // the next message tries again
        }
        if (data.gone) return this.stop(new Failure({message: `bpfrun stopped: ${data.gone}. It is started again for the next thing that you ask for.`}));
        const w = this.waiting.get(data.id);
        this.waiting.delete(data.id);
        w?.resolve(data.answer);
      };
      this.worker.onerror = e => {
        e.preventDefault();
        reject(new Error(`the worker cannot be started: ${e.message}`));
        this.stop(new Failure({message: `bpfrun stopped: ${e.message}`}));
      };
    });
    this.ready.catch(() => {});
  }

  stop(why) {
    this.worker?.terminate();
    this.worker = null;
    for (const w of this.waiting.values()) w.reject(why);
    this.waiting.clear();
  }

  // begin makes sure that a worker runs, and returns its generation.
  async begin() {
    if (!this.worker) this.start();
    await this.ready;
    return this.generation;
  }

  // call answers one message at a time.
  call(message, limit) {
    const answer = this.queue.then(() => this.one(message, limit));
    this.queue = answer.catch(() => {});
    return answer;
  }

  async one(message, limit) {
    await this.begin();
    const id = this.next++;
    const bytes = new TextEncoder().encode(JSON.stringify({...message, id}));
    const answer = new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
    this.worker.postMessage({id, bytes}, [bytes.buffer]);
    const timer = setTimeout(() => this.stop(new Failure({message: `${message.do} took longer than ${limit / 1000} s and was stopped`, kind: 'time'})), limit);
    try {
      return result(JSON.parse(await answer));
    } finally {
      clearTimeout(timer);
    }
  }
}

// HTTPEngine asks the server of bpfrun play.
export class HTTPEngine {
  constructor(token) {
    this.token = token;
    this.generation = 1;
  }

  async begin() { return this.generation; }

  async call(message, limit) {
    const stop = AbortSignal.timeout(limit);
    let response;
    try {
      response = await fetch('answer', {method: 'POST', body: JSON.stringify(message), signal: stop,
        headers: {'Content-Type': 'application/json', 'X-Bpfrun-Token': this.token}});
    } catch (e) {
      if (stop.aborted) throw new Failure({message: `${message.do} took longer than ${limit / 1000} s and was stopped`, kind: 'time'});
      throw new Failure({message: 'bpfrun play does not answer: is it still running?'});
    }
    if (!response.ok) throw new Failure({message: `bpfrun play: ${(await response.text()).trim()}`});
    return result(await response.json());
  }
}
