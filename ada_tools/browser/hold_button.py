# SPDX-License-Identifier: Apache-2.0
"""Hold-to-run button with a heartbeat: active only while the browser confirms that it is pressed (dead-man switch).

The browser sends heartbeats at RATE while the button is down, and a click on release. If a tab is closed, suspended
or disconnected, the button is released; later heartbeats of that tab are ignored until the user releases and presses
the button again. Delayed heartbeats that arrive in a burst count as one, and a single heartbeat does not start a
press. Heartbeats of browsers refused by the page guard are ignored.
"""

from __future__ import annotations

import threading
from typing import Any

from ada_tools.browser.page import Page

RATE = 20.0  # [Hz] heartbeat rate
EXPIRES = 0.3  # [s] heartbeat timeout
FORGOTTEN = 2.0  # [s] interval after which a further refusal is reported again
_APART = 0.4 / RATE  # [s] minimum interval between counted heartbeats
_LAPSED = "this page was suspended while the button was down: release the button and press it again"


class HoldButton:
    """Hold-to-run button. Heartbeats arrive on the server thread; the properties are read on the page thread.

    Attributes:
        button: viser button.
        presses: number of presses.
        refusals: number of presses by browsers that are not allowed to move robots.
    """

    def __init__(self, page: Page, label: str, *, color: Any = None, hint: str = "") -> None:
        """Add the button to the current section of the page."""
        self.presses = self.refusals = 0
        self._page = page
        self._why, self._refused_at = "", -1e9
        self._clock = page.clock
        self._lock = threading.Lock()
        self._holder: int | None = None
        self._last = -1e9  # [s] time of the last counted heartbeat
        self._signs = 0  # heartbeats in this press
        self._lapsed: set[int] = set()  # clients that timed out while pressing and have not released since
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
        """Process a heartbeat of a browser; one browser at a time can hold the button."""
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
        """Process the release of the button, or the disconnection of a browser."""
        with self._lock:
            self._lapsed.discard(client)
            if client == self._holder:
                self._holder, self._signs = None, 0

    # --- on the page's thread -----------------------------------------------------------------------------------
    @property
    def is_held(self) -> bool:
        """Return True while the button is held."""
        with self._lock:
            return self._holder is not None and self._signs > 1 and self._clock() - self._last <= EXPIRES

    @property
    def refusal(self) -> str:
        """Reason why the present press is refused; "" without a refusal."""
        with self._lock:
            return self._why if self._clock() - self._refused_at <= EXPIRES else ""
