# SPDX-License-Identifier: Apache-2.0
"""`model.view()` and `sim.view()`: a page that is served while the program goes on, inline in notebooks."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import Simulation
from ada_tools.browser.live import live_page
from ada_tools.browser.page import HOST, PORT, Page, nearest_free
from ada_tools.browser.pose_page import PosePage

_FRAME = '<iframe src="{url}" style="width:100%;height:{height}px;border:1px solid #ccc"></iframe>'
_LINK = '<a href="{url}" target="_blank">the page</a>'
_HEIGHT = 480
_END = 2.0  # [s] limit for a page to finish its frame


class BackgroundPage:
    """A page on a thread of its own; it ends with the program, or when it is closed.

    Attributes:
        url: address of the page.
        height: of the frame in a notebook [px].
    """

    def __init__(
        self,
        title: str,
        make: Callable[[Page], Any],
        *,
        host: str = HOST,
        port: int = PORT,
        open_browser: bool = True,
        height: int = _HEIGHT,
    ) -> None:
        """Serve a page.

        Args:
            title: above the controls.
            make: makes what is shown, as for `page.serve`.
            host: address to listen on.
            port: to listen on, or the next one that is free.
            open_browser: open the page, where there is a screen and no notebook.
            height: of the frame in a notebook [px].

        Raises:
            InputError: viser is not installed, or host or port are not to be had.
        """
        self.height = height
        self._page = Page(title, host, nearest_free(host, port))
        try:
            shown = make(self._page)
        except BaseException:
            self._page.close()
            raise
        self.url = self._page.url
        run = self._page.run
        self._thread = threading.Thread(target=run, args=(getattr(shown, "tick", None),), name=title, daemon=True)
        self._thread.start()
        if not is_notebook():
            self._page.invite(open_browser, "close() ends it")

    def close(self) -> None:
        """End the page."""
        self._page.end()
        self._thread.join(_END)
        self._page.close()

    def __enter__(self) -> BackgroundPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<page at {self._page.shown_url}; close() ends it>"

    def _repr_html_(self) -> str:
        # Browsers keep no cookies of frames from other places, and a token needs one.
        return (_LINK if self._page.door.token else _FRAME).format(url=self.url, height=self.height)


def is_notebook() -> bool:
    """True in a kernel of Jupyter, whose cells show what they return."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return getattr(running, "kernel", None) is not None


def view_model(model: Model, q: Array | None, **options: Any) -> BackgroundPage:
    """A robot with sliders. Arguments as of `pose_page.pose`; options of `BackgroundPage`."""
    return BackgroundPage(model.name, lambda page: PosePage(page, model, q), **options)


def view_simulation(simulation: Simulation, **options: Any) -> BackgroundPage:
    """A simulation in real time, at first running; no other code may step it meanwhile. Options of `BackgroundPage`."""

    def make(page: Page) -> Any:
        shown = live_page(page, simulation, None if simulation.contact is None else 0.0)
        shown.toggle()
        return shown

    return BackgroundPage(simulation.model.name, make, **options)
