# SPDX-License-Identifier: Apache-2.0
"""Display of models and logs: HTML in notebooks, and pages in the browser.

The code that makes HTML and pages is above the library's models; it is imported when a display is requested.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from ada_dynamics.errors import InputError

_HTML_MODULE = "ada_dynamics.notebook.html"
_PAGES = "ada_tools.browser"


class View(Protocol):
    """A page in the browser, served by a background thread; inline in a notebook.

    Attributes:
        url: address of the page.
    """

    url: str

    def close(self) -> None:
        """Stop serving the page."""

    def __enter__(self) -> View: ...

    def __exit__(self, *_: object) -> None: ...


class NotebookDisplay:
    """Base class of objects with an HTML display in notebooks."""

    def _repr_html_(self) -> str | None:
        """HTML for IPython, or None for plain text."""
        module: Any = import_module(_HTML_MODULE)
        html: str | None = module.html_of(self)
        return html


def open_page(page: str, *arguments: object, **options: object) -> View:
    """Open a page in the background, by "module.function"; InputError if the package ada_tools is not installed."""
    module, _, function = page.rpartition(".")
    try:
        pages = import_module(f"{_PAGES}.{module}")
    except ModuleNotFoundError as problem:
        if problem.name is None or not problem.name.startswith("ada_"):
            raise
        raise InputError("view() needs the package ada_tools; install the complete distribution.") from None
    view: View = getattr(pages, function)(*arguments, is_background=True, **options)
    return view
