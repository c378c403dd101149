// Keeps the files that the page asked for, so that it works without a network.

const keep = 'bpfrun';

addEventListener('install', () => skipWaiting());
addEventListener('activate', e => e.waitUntil(clients.claim()));

addEventListener('fetch', e => {
  if (e.request.method !== 'GET' || new URL(e.request.url).origin !== location.origin) return;
  e.respondWith(answer(e.request));
});

// answer asks the network first, so that a new version is seen at once, and falls back to what is kept.
async function answer(request) {
  const cache = await caches.open(keep);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (e) {
    const kept = await cache.match(request, {ignoreSearch: true});
    if (kept) return kept;
    throw e;
  }
}
