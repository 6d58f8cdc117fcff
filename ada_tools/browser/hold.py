# SPDX-License-Identifier: Apache-2.0
"""A button that counts as held only as long as the browser keeps saying so: a dead-man switch.

The browser sends a sign of life RATE times a second while the button is down, and a click when it is let go. So a tab
that is closed, frozen, or cut off lets go by itself, and for good: when it goes on, its signs count for nothing until
the person has let go of the button and pressed it anew, as a person may no longer be there. Signs that were
held up somewhere and come all at once count as one, and one alone begins nothing. Signs of a browser that the page's
guard refuses count for nothing.
"""

from __future__ import annotations

import threading
from typing import Any

from ada_tools.browser.page import Page

RATE = 20.0  # [Hz] of signs of life
EXPIRES = 0.3  # [s] without one, after which the button was let go
FORGOTTEN = 2.0  # [s] without a refusal, after which the next one is reported again
_APART = 0.4 / RATE  # [s] between signs that count each
_LAPSED = "this page stood still while the button was down. Let go of the button, and press it anew"


class Hold:
    """A button that is held, or not. Signs come on the server's thread; the rest is for the page's.

    Attributes:
        button: viser's.
        presses: how often it was pressed.
        refusals: how often a browser pressed it that may not.
    """

    def __init__(self, page: Page, label: str, *, color: Any = None, hint: str = "") -> None:
        """Add the button to where the page's controls go now.

        Args:
            page: to draw on.
            label: on it.
            color: of it.
            hint: beside it, when a mouse is over it.
        """
        self.presses = self.refusals = 0
        self._page = page
        self._why, self._refused_at = "", -1e9
        self._clock = page.clock
        self._lock = threading.Lock()
        self._holder: int | None = None
        self._last = -1e9  # [s] when a sign came that counted
        self._signs = 0  # in this press
        self._lapsed: set[int] = set()  # browsers that were silent while the button was down, and did not let go since
        self.button = page.gui.add_button(label, color=color, hint=hint or None)

        async def pressed(event: Any) -> None:
            if event.client_id is not None:
                self.sign(event.client_id)

        async def released(event: Any) -> None:
            if event.client_id is not None:
                self.release(event.client_id)

        self.button.on_hold(pressed, callback_hz=RATE)
        self.button.on_click(released)

    # --- on the server's thread ---------------------------------------------------------------------------------
    def sign(self, client: int) -> None:
        """A browser says that the button is down there; one at a time counts."""
        now, why = self._clock(), self._page.guard(client)
        with self._lock:
            if self._holder is not None and now - self._last > EXPIRES:
                self._lapsed.add(self._holder)
                self._holder = None
            why = why or (_LAPSED if client in self._lapsed else "")
            if why:
                self.refusals += now - self._refused_at > FORGOTTEN
                self._why, self._refused_at = why, now
                return
            if self._holder is None:
                self._holder, self._signs = client, 0
                self.presses += 1
            if client != self._holder or (self._signs and now - self._last < _APART):
                return
            self._signs += 1
            self._last = now

    def release(self, client: int) -> None:
        """A browser says that it was let go, or is gone."""
        with self._lock:
            self._lapsed.discard(client)
            if client == self._holder:
                self._holder, self._signs = None, 0

    # --- on the page's thread -----------------------------------------------------------------------------------
    @property
    def is_held(self) -> bool:
        """True while a person holds it."""
        with self._lock:
            return self._holder is not None and self._signs > 1 and self._clock() - self._last <= EXPIRES

    @property
    def refusal(self) -> str:
        """Why the browser where it is down now may not; "" where none is refused."""
        with self._lock:
            return self._why if self._clock() - self._refused_at <= EXPIRES else ""
