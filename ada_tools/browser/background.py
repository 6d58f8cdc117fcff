# SPDX-License-Identifier: Apache-2.0
"""`model.view()` and `sim.view()`: pages that are served by a background thread, inline in notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import Simulation
from ada_tools.browser.live import live_page
from ada_tools.browser.page import HOST, PORT, Page
from ada_tools.browser.pose_page import PosePage


def view_model(model: Model, q: Array | None, **options: Any) -> Page:
    """Show a robot with joint sliders. Arguments as `pose_page.pose`; options as `serve_in_background`."""
    return serve_in_background(model.name, lambda page: PosePage(page, model, q), **options)


def view_simulation(simulation: Simulation, **options: Any) -> Page:
    """Run a simulation in real time; only the page steps it. Options as `serve_in_background`."""

    def make(page: Page) -> Any:
        shown = live_page(page, simulation, None if simulation.contact is None else 0.0)
        shown.toggle()
        return shown

    return serve_in_background(simulation.model.name, make, **options)


def serve_in_background(
    title: str,
    make: Callable[[Page], Any],
    *,
    host: str = HOST,
    port: int = PORT,
    open_browser: bool = True,
    height: int | None = None,
) -> Page:
    """Serve a page until its `close()` or the end of the program.

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
    page = Page(title, host, port)
    page.height = height or page.height
    try:
        page.start(getattr(make(page), "tick", None))
    except BaseException:
        page.close()
        raise
    if not is_notebook():
        page.invite(open_browser, "close() ends it")
    return page


def is_notebook() -> bool:
    """Return True in a Jupyter kernel, which displays returned objects."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return getattr(running, "kernel", None) is not None
