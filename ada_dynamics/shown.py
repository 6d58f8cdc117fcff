# SPDX-License-Identifier: Apache-2.0
"""What is shown by code that stands above it: looks in notebooks, and pages in the browser.

A model knows nothing of drawings, and the library nothing of the tools on top of it. Both are found by their names when
somebody asks for a picture, and not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ada_dynamics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOKS = "ada_dynamics.notebook"
_PAGES = "ada_tools.browser.background"


class View(Protocol):
    """A page in the browser that is served while the program goes on; in a notebook it is shown inline.

    Attributes:
        url: address of the page.
    """

    url: str

    def close(self) -> None:
        """End the page."""

    def __enter__(self) -> View: ...

    def __exit__(self, *_: object) -> None: ...


class Shown:
    """Something with a look of its own in notebooks."""

    def _repr_html_(self) -> str | None:
        """For IPython; None where its plain text has to do."""
        looks: Any = import_module(_LOOKS)
        html: str | None = looks.html_of(self)
        return html


def page_of(kind: str, *shown: object, **options: object) -> View:
    """A page of the tools that come with the library.

    Args:
        kind: name of the function that makes it.
        shown: what it shows.
        options: of the page.

    Raises:
        InputError: the tools are not installed, or what they need.
    """
    try:
        pages = import_module(_PAGES)
    except ModuleNotFoundError as problem:
        if problem.name is None or not problem.name.startswith("ada_"):
            raise
        raise InputError(
            "view() needs the package ada_tools, which comes with the library: install it whole."
        ) from None
    make: Callable[..., View] = getattr(pages, kind)
    return make(*shown, **options)
