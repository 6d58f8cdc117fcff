# SPDX-License-Identifier: Apache-2.0
"""Text of changing length on a page, in a box of fixed height.

Otherwise the controls below would move when the text changes, just as somebody is about to press one.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

LINE = 1.45  # height of a line, in those of its letters
_BOX = (
    '<div style="height:{height:.2f}em;line-height:{line};overflow-y:auto;margin:0 0.8em 0.4em 0.8em;font-size:0.9em;'
    'color:{colour}">{text}</div>'
)
_BOLD = re.compile(r"\*\*(.+?)\*\*")


class Words:
    """A text in a box that always has the same height; what does not fit is scrolled to."""

    def __init__(self, gui: Any, lines: int) -> None:
        """Add the box to where the page's controls go now.

        Args:
            gui: viser's.
            lines: that it has room for.
        """
        self._lines, self._text, self._colour = lines, "", "inherit"
        self._html = gui.add_html(self._render())

    @property
    def content(self) -> str:
        """The text; **stars** make it bold, an empty line ends a paragraph."""
        return self._text

    @content.setter
    def content(self, text: str) -> None:
        self.show(text)

    def show(self, text: str, colour: str = "inherit") -> None:
        """Show a text in a colour of CSS."""
        if (text, colour) != (self._text, self._colour):
            self._text, self._colour = text, colour
            self._html.content = self._render()

    def _render(self) -> str:
        text = _BOLD.sub(r"<b>\1</b>", escape(self._text)).replace("\n\n", "<br>")
        return _BOX.format(height=LINE * self._lines, line=LINE, colour=self._colour, text=text)
