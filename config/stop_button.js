/* SPDX-License-Identifier: Apache-2.0
 * Floating STOP button of the browser view, for ada_tools/browser/stop_button.py, which joins the lines and replaces
 * the names in capitals by their values.
 */
(() => {
  if (document.getElementById('stop-button')) return;
  const send = (key, more) =>
    document.documentElement.dispatchEvent(new KeyboardEvent('keydown', {key, ...more}));
  const style = document.createElement('style');
  style.textContent = '.stop-floats [class*=Notifications-root]{top:5.5em!important}';
  const stop = document.createElement('button');
  Object.assign(stop, {id: 'stop-button', type: 'button', textContent: LABEL, title: HINT});
  stop.style.cssText = LOOK + ';position:fixed;top:8px;left:50%;transform:translateX(-50%);display:none;' +
    'width:min(16em,calc(100vw - 16px));height:3em;border-radius:4px;font-family:inherit;font-size:1.4em;' +
    'z-index:2147483647';
  stop.addEventListener('pointerdown', () => send(KEY));
  stop.addEventListener('click', () => send(KEY));
  document.head.appendChild(style);
  document.body.appendChild(stop);
  const isSeen = (one) => {
    if (!one || document.visibilityState !== 'visible') return false;
    const r = one.getBoundingClientRect(), v = window.visualViewport;
    if (r.width < 40 || r.height < 30) return false;
    const inside = r.left >= v.offsetLeft - 1 && r.top >= v.offsetTop - 1 &&
      r.right <= v.offsetLeft + v.width + 1 && r.bottom <= v.offsetTop + v.height + 1;
    const front = document.elementFromPoint(0.5 * (r.left + r.right), 0.5 * (r.top + r.bottom));
    return inside && one.contains(front) && one.checkVisibility({opacityProperty: true, visibilityProperty: true});
  };
  const look = () => {
    const floats = innerWidth < NARROW || !isSeen(document.querySelector('[data-stop=panel]'));
    stop.style.display = floats ? 'block' : 'none';
    document.body.classList.toggle('stop-floats', floats);
    if (!floats || isSeen(stop)) send(WORD, {ctrlKey: true, altKey: true, shiftKey: true});
  };
  const release = (one) => one.dispatchEvent(new PointerEvent('pointercancel', {bubbles: true}));
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) document.querySelectorAll('button').forEach(release);
  });
  look();
  setInterval(look, PERIOD);
})()
