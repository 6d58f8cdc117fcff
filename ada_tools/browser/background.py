# SPDX-License-Identifier: Apache-2.0
"""`model.view()` and `sim.view()`: serve a page from a background thread, inline in notebooks."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import Simulation
from ada_tools.browser.live import live_page
from ada_tools.browser.page import HOST, PORT, Page
from ada_tools.browser.pose_page import PosePage

_FRAME = '<iframe src="{url}" style="width:100%;height:{height}px;border:1px solid #ccc"></iframe>'
_LINK = '<a href="{url}" target="_blank">open the page</a>'
_HEIGHT = 480
_END = 2.0  # [s] timeout for the last frame


class BackgroundPage:
    """Page served by a background thread until `close()` or the end of the program.

    Attributes:
        url: address of the page.
        height: height of the notebook frame [px].
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
            title: title above the controls.
            make: creates the content, as for `page.serve`.
            host: address to listen on.
            port: port to listen on; if it is in use, the next free one.
            open_browser: open the page unless in a notebook or without a display.
            height: height of the notebook frame [px].

        Raises:
            InputError: viser is not installed, or the host or port is not available.
        """
        self.height = height
        self._page = Page(title, host, port)
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
        """Stop serving the page."""
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
        # Browsers block cookies of cross-site frames, and a token is stored in one: show a link instead.
        return (_LINK if self._page.access.token else _FRAME).format(url=self.url, height=self.height)


def is_notebook() -> bool:
    """Return True in a Jupyter kernel, which displays returned objects."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return getattr(running, "kernel", None) is not None


def view_model(model: Model, q: Array | None, **options: Any) -> BackgroundPage:
    """Show a robot with joint sliders. Arguments as `pose_page.pose`; options as `BackgroundPage`."""
    return BackgroundPage(model.name, lambda page: PosePage(page, model, q), **options)


def view_simulation(simulation: Simulation, **options: Any) -> BackgroundPage:
    """Run a simulation in real time; the caller must not step it in the meantime. Options as `BackgroundPage`."""

    def make(page: Page) -> Any:
        shown = live_page(page, simulation, None if simulation.contact is None else 0.0)
        shown.toggle()
        return shown

    return BackgroundPage(simulation.model.name, make, **options)
