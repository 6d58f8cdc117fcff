# SPDX-License-Identifier: Apache-2.0
"""STOP button and Esc key that are visible on every page and whose message is never delayed.

Within 50 ms a page sends only the latest message of all its controls: while a button is held it sends one every 50 ms,
so that a click on another button may be lost. Key commands are sent immediately. The STOP button therefore triggers a
key command on pointer-down, in addition to a normal click.

Panels can be minimized, scrolled and moved; on phones they are folded sections. If the button of the panel is hidden,
or the screen is narrow, a second button floats above the page. The page reports several times per second, by a key
command, that one of the two is visible and clickable. A browser without this report must not move robots: see
`Page.guard`. A page hidden by another tab or window releases its buttons immediately.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from html import escape
from typing import Any

from ada_dynamics import resources
from ada_tools.browser.page import Page

SEEN = 1.5  # [s] timeout of visibility reports
_SAYS = 0.25  # [s] between visibility reports, and between checks of the two buttons
_NARROW = 600  # [px] width below which the panel is part of a scrolled sheet
_KEY, _WORD = "escape", "insert"  # the second with all modifiers: no user presses that
_OUT_OF_SIGHT = (
    "STOP is not visible on this page, so no control on it moves a robot. Enlarge the window or zoom out until the "
    "red button is fully visible."
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
_SCRIPT = "stop_button.js"  # in config/
# Scripts in inserted HTML do not run; the error handler of an invalid image does.
_LOADER = '<img alt="" src="data:," style="display:none" onerror="{script}">'


class StopButton:
    """STOP button on every page, and the browsers that display it."""

    def __init__(self, page: Page, label: str, hint: str, press: Callable[[], None]) -> None:
        """Add the button to the current section of the page, and refuse motion to browsers that do not display it.

        `press` is called on the server thread, possibly several times per press.
        """
        self._clock = page.clock
        self._lock = threading.Lock()
        self._seen: dict[int, float] = {}  # [s] time of the last visibility report by browser

        async def pressed(_: Any) -> None:
            press()

        async def seen(event: Any) -> None:
            if event.client_id is not None:
                self.is_in_sight(event.client_id)

        gui = page.gui
        click = gui.add_button(label)  # hidden
        click.on_click(pressed)
        gui.add_command(label, description=hint, hotkey=_KEY).on_trigger(pressed)
        word = gui.add_command(
            f"{label} is visible", description="sent by the page itself", hotkey=_WORD, modifier="cmd/ctrl+alt+shift"
        )
        word.on_trigger(seen)
        hint = f"{hint} (Esc)"
        html = _BUTTON.format(label=escape(label), hint=escape(hint), press=_PRESS, click=_id_of(click), look=_LOOK)
        gui.add_html(html + _loader(label, hint))
        page.guard = self.why_not

    def is_in_sight(self, browser: int) -> None:
        """Record the visibility report of a browser."""
        with self._lock:
            self._seen[browser] = self._clock()

    def forget(self, browser: int) -> None:
        """Remove a disconnected browser."""
        with self._lock:
            self._seen.pop(browser, None)

    def why_not(self, browser: int) -> str:
        """Reason why a browser must not move robots; "" if it displays the button."""
        with self._lock:
            return "" if self._clock() - self._seen.get(browser, -1e9) <= SEEN else _OUT_OF_SIGHT


def _loader(label: str, hint: str) -> str:
    """HTML that adds the floating button to the document, once."""
    values: dict[str, str | int] = {
        "LABEL": label,
        "HINT": hint,
        "LOOK": _LOOK,
        "KEY": _KEY.capitalize(),
        "WORD": _WORD.capitalize(),
        "NARROW": _NARROW,
        "PERIOD": round(1e3 * _SAYS),
    }
    text = resources.find("config", _SCRIPT).read_text(encoding="utf-8")
    script = " ".join(line.strip() for line in text.splitlines())
    for name, value in values.items():
        script = script.replace(name, json.dumps(value))
    return _LOADER.format(script=escape(script))


def _id_of(button: Any) -> str:
    """Element id of a button in the document; "" if this viser version has none, and the button stays visible."""
    return str(getattr(getattr(button, "_impl", None), "uuid", ""))
