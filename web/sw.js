// Keeps the files that the page asked for, so that it works without a network.

const keep = 'bpfrun';

addEventListener('install', () => skipWaiting());
addEventListener('activate', e => e.waitUntil(clients.claim()));

addEventListener('fetch', e => {
  if (e.request.method !== 'GET' || new URL(e.request.url).origin !== location.origin || secret(e.request)) return;
  e.respondWith(answer(e.request));
});

// secret tells requests to bpfrun play, which may have the address that a site had before.
function secret(request) { return request.headers.has('X-Bpfrun-Token') || new URL(request.url).searchParams.has('token'); }

// answer asks the network first, so that a new version is seen at once, and falls back to what is kept.
async function answer(request) {
  const cache = await caches.open(keep);
  try {
    const response = await fetch(request);
    if (response.ok && !/no-store/.test(response.headers.get('Cache-Control'))) await cache.put(request, response.clone()).catch(() => {}); // there may be no room
    return response;
  } catch (e) {
    const kept = await cache.match(request, {ignoreSearch: true});
    if (kept) return kept;
    throw e;
  }
}
