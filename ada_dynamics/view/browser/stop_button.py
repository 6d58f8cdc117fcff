# SPDX-License-Identifier: Apache-2.0
"""A button, and the key Esc, whose message to the server nothing on the page takes the place of.

Within 50 ms a page sends one message of all its controls, the newest: a button that is held sends one every 50 ms, and
a click on another one meanwhile may never leave the browser. What a key triggers is sent at once, by itself. So the
button presses that key, as soon as it is touched, and clicks as others do besides.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from ada_dynamics.view.browser.page import Page

_KEY = "escape"
_PRESS = f"document.documentElement.dispatchEvent(new KeyboardEvent('keydown',{{key:'{_KEY.capitalize()}'}}))"
_BUTTON = (
    "<style>[id='{click}']{{display:none}}</style>"
    '<button type="button" title="{hint}" onpointerdown="{press}" '
    "onclick=\"{press};document.getElementById('{click}').click()\" "
    'style="display:block;width:calc(100% - 22px);margin:0 11px 8px 11px;height:3em;border:0;'
    "border-radius:4px;background:#cc0011;color:#fff;font:inherit;font-size:1.5em;font-weight:800;cursor:pointer;"
    'touch-action:manipulation">{label}</button>'
)


def add_stop_button(page: Page, label: str, hint: str, press: Callable[[], None]) -> None:
    """Add a big red button, and the key, to where the page's controls go now.

    Args:
        page: to draw on.
        label: on the button.
        hint: beside it, when a mouse is over it.
        press: called on the server's own thread, for one press more than once; it does not wait for the page's.
    """

    async def pressed(_: Any) -> None:
        press()

    gui = page.gui
    click = gui.add_button(label)  # not seen
    click.on_click(pressed)
    gui.add_command(label, description=hint, hotkey=_KEY).on_trigger(pressed)
    html = _BUTTON.format(label=escape(label), hint=escape(f"{hint} (Esc)"), press=_PRESS, click=_id_of(click))
    gui.add_html(html)


def _id_of(button: Any) -> str:
    """The name that a button has in the page's document; "" where this viser has none: then it is seen, and works."""
    return str(getattr(getattr(button, "_impl", None), "uuid", ""))
