// Timelines that can be magnified and moved: by buttons, keys, dragging, and the wheel with Ctrl.

const most = 2000; // times

// units of time in nanoseconds, for ticks.
const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// tick writes a place on the axis so that neighbours a step apart differ.
function tick(at, step, unit) {
  if (unit !== 'time') return String(Math.round(at));
  const [size, name] = units.find(u => at >= u[0]) ?? units.at(-1);
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / size))));
  return `${(at / size).toFixed(digits)} ${name}`;
}

// zoomable gives a timeline its controls. bar gets the buttons, and says which part is seen.
export function zoomable(view, bar) {
  const end = Number(view.dataset.end), unit = view.dataset.unit;
  const wholes = [...view.querySelectorAll('.whole')], spans = [...view.querySelectorAll('.whole i')], ticks = [...view.querySelectorAll('.ticks span')];
  const plain = ticks.map(t => t.textContent), widths = spans.map(s => parseFloat(s.style.width));
  let scale = 1, from = 0; // how much it is magnified, and which share of it is left of what is seen
  const part = document.createElement('output');

  function show() {
    scale = Math.min(Math.max(scale, 1), most);
    from = Math.min(Math.max(from, 0), 1 - 1 / scale);
    for (const w of wholes) {
      w.style.width = `${100 * scale}%`;
      w.style.left = `${-100 * scale * from}%`;
    }
    const pixels = scale * (wholes[0]?.parentElement.clientWidth ?? 0) / 100; // of one percent
    spans.forEach((s, i) => { s.textContent = widths[i] * pixels > Math.min(6.5 * s.dataset.what.length, 60) ? s.dataset.what : ''; }); // where it can be read
    const text = i => scale === 1 ? plain[i] : tick(end * (from + i / 4 / scale), end / 4 / scale, unit);
    ticks.forEach((t, i) => { t.textContent = text(i); });
    part.textContent = scale === 1 ? '' : `${text(0)} to ${text(4)}`;
    view.classList.toggle('moves', scale > 1);
    for (const [b, , , useless] of buttons) b.disabled = useless();
  }
  // zoom magnifies by a factor around a place of what is seen, from 0 to 1.
  function zoom(factor, place) {
    const next = Math.min(Math.max(scale * factor, 1), most);
    from += place / scale - place / next;
    scale = next;
    show();
  }
  function move(by) { // of what is seen
    from += by / scale;
    show();
  }
  const whole = () => { scale = 1; show(); };
  const buttons = [
    ['−', 'Zoom out', () => zoom(1 / 2, 0.5), () => scale === 1], ['+', 'Zoom in', () => zoom(2, 0.5), () => scale === most],
    ['◀', 'Earlier', () => move(-0.5), () => from === 0], ['▶', 'Later', () => move(0.5), () => from >= 1 - 1 / scale], ['All', 'The whole timeline', whole, () => scale === 1],
  ].map(([text, title, act, useless]) => {
    const b = document.createElement('button');
    b.type = 'button';
    b.textContent = text;
    b.title = title;
    b.setAttribute('aria-label', title);
    b.addEventListener('click', act);
    return [b, title, act, useless];
  });
  bar.replaceChildren(...buttons.map(b => b[0]), part);
  bar.title = 'Also by the keys + - 0 and arrows, by dragging, and by the wheel with Ctrl';
  view.tabIndex = 0;

  const keys = {'+': () => zoom(2, 0.5), '=': () => zoom(2, 0.5), '-': () => zoom(1 / 2, 0.5), 0: whole, ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25), Home: () => move(-scale), End: () => move(scale)};
  view.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
  const track = () => wholes[0].parentElement.getBoundingClientRect();
  view.addEventListener('wheel', e => {
    const r = track();
    if (e.ctrlKey || e.metaKey) zoom(2 ** (-e.deltaY / 200), Math.min(Math.max((e.clientX - r.left) / r.width, 0), 1));
    else if (scale > 1 && (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))) move((e.deltaX || e.deltaY) / r.width);
    else return; // the page scrolls
    e.preventDefault();
  }, {passive: false});
  let held;
  view.addEventListener('pointerdown', e => {
    if (scale === 1 || e.button !== 0) return;
    held = e.clientX;
    view.setPointerCapture(e.pointerId);
  });
  view.addEventListener('pointermove', e => {
    if (held === undefined) return;
    move((held - e.clientX) / track().width);
    held = e.clientX;
  });
  for (const done of ['pointerup', 'pointercancel']) view.addEventListener(done, () => { held = undefined; });
  new ResizeObserver(show).observe(view); // also when it is unfolded
  show();
}
