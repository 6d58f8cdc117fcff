# SPDX-License-Identifier: Apache-2.0
"""A STOP button, and the key Esc, that are always on the page, and whose message no other one replaces.

Within 50 ms a page sends one message of all its controls, the newest: a button that is held sends one every 50 ms, and
a click on another one meanwhile may never leave the browser. What a key triggers is sent at once, by itself. So the
button presses that key, as soon as it is touched, and clicks as others do besides.

Panels can be minimized, scrolled and moved, and on a phone they are the folded sections of a sheet. So wherever the
button of the panel is out of sight, and on narrow screens, the page's document has another one in front of everything.
And it says several times a second, by a key of its own, that one of the two can be seen and touched. A browser that
does not say so moves nothing: see `Page.guard`. A page that goes out of sight as a whole, behind another tab or window,
lets go of its buttons at once, and does not wait until that is noticed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from html import escape
from typing import Any

from ada_tools.browser.page import Page

SEEN = 1.5  # [s] that a browser's report counts
_SAYS = 0.25  # [s] between such reports, and between checks of the two buttons
_NARROW = 600  # [px] below which the panel is part of a sheet that is scrolled
_KEY, _WORD = "escape", "insert"  # the second one with all modifiers: no person presses that
_OUT_OF_SIGHT = (
    "STOP is not in sight on this page, so nothing on it moves a robot. Make the window larger, or zoom out, until the "
    "red button is whole."
)
_LOOK = "background:#cc0011;color:#fff;border:0;font-weight:800;cursor:pointer;touch-action:manipulation"
_BUTTON = (
    "<style>[id='{click}']{{display:none}}</style>"
    '<button type="button" data-stop="panel" title="{hint}" onpointerdown="{press}" '
    "onclick=\"{press};document.getElementById('{click}').click()\" "
    'style="{look};display:block;width:calc(100% - 22px);margin:0 11px 8px 11px;height:3em;'
    'border-radius:4px;font:inherit;font-size:1.5em">{label}</button>'
)
_PRESS = f"document.documentElement.dispatchEvent(new KeyboardEvent('keydown',{{key:'{_KEY.capitalize()}'}}))"
# Scripts do not run in HTML that is inserted later; the error handler of an image that cannot be loaded does.
_SCRIPT = """
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
"""
_LOADER = '<img alt="" src="data:," style="display:none" onerror="{script}">'


class StopButton:
    """A big red button on each page, and which browsers have it in sight."""

    def __init__(self, page: Page, label: str, hint: str, press: Callable[[], None]) -> None:
        """Add it to where the page's controls go now, and refuse motion to browsers that do not show it.

        Args:
            page: to draw on.
            label: on the button.
            hint: beside it, when a mouse is over it.
            press: called on the server's own thread, for one press more than once; it does not wait for the page's.
        """
        self._clock = page.clock
        self._lock = threading.Lock()
        self._seen: dict[int, float] = {}  # [s] when a browser said so last

        async def pressed(_: Any) -> None:
            press()

        async def seen(event: Any) -> None:
            if event.client_id is not None:
                self.is_in_sight(event.client_id)

        gui = page.gui
        click = gui.add_button(label)  # not seen
        click.on_click(pressed)
        gui.add_command(label, description=hint, hotkey=_KEY).on_trigger(pressed)
        word = gui.add_command(
            f"{label} is in sight", description="the page itself says so", hotkey=_WORD, modifier="cmd/ctrl+alt+shift"
        )
        word.on_trigger(seen)
        hint = f"{hint} (Esc)"
        html = _BUTTON.format(label=escape(label), hint=escape(hint), press=_PRESS, click=_id_of(click), look=_LOOK)
        gui.add_html(html + _loader(label, hint))
        page.guard = self.why_not

    def is_in_sight(self, browser: int) -> None:
        """A browser says that it shows the button."""
        with self._lock:
            self._seen[browser] = self._clock()

    def forget(self, browser: int) -> None:
        """A browser is gone."""
        with self._lock:
            self._seen.pop(browser, None)

    def why_not(self, browser: int) -> str:
        """Why a browser may not move robots; "" where it may: there the button can be seen and touched."""
        with self._lock:
            return "" if self._clock() - self._seen.get(browser, -1e9) <= SEEN else _OUT_OF_SIGHT


def _loader(label: str, hint: str) -> str:
    """HTML that puts the button that is in front of everything into a document, once."""
    values: dict[str, str | int] = {
        "LABEL": label,
        "HINT": hint,
        "LOOK": _LOOK,
        "KEY": _KEY.capitalize(),
        "WORD": _WORD.capitalize(),
        "NARROW": _NARROW,
        "PERIOD": round(1e3 * _SAYS),
    }
    script = " ".join(line.strip() for line in _SCRIPT.strip().splitlines())
    for name, value in values.items():
        script = script.replace(name, json.dumps(value))
    return _LOADER.format(script=escape(script))


def _id_of(button: Any) -> str:
    """The name that a button has in the page's document; "" where this viser has none: then it is seen, and works."""
    return str(getattr(getattr(button, "_impl", None), "uuid", ""))
