# SPDX-License-Identifier: Apache-2.0
"""Text of variable length in a box of fixed height, so that the controls below do not shift."""

from __future__ import annotations

import re
from html import escape
from typing import Any

LINE = 1.45  # line height in font sizes
_BOX = (
    '<div style="height:{height:.2f}em;line-height:{line};overflow-y:auto;margin:0 0.8em 0.4em 0.8em;font-size:0.9em;'
    'color:{colour}">{text}</div>'
)
_BOLD = re.compile(r"\*\*(.+?)\*\*")


class TextBox:
    """Text box of fixed height; longer text is scrolled."""

    def __init__(self, gui: Any, lines: int) -> None:
        """Add the box to the current section of the page.

        Args:
            gui: viser GUI.
            lines: number of visible lines.
        """
        self._lines, self._text, self._colour = lines, "", "inherit"
        self._html = gui.add_html(self._render())

    @property
    def content(self) -> str:
        """Displayed text; **stars** mark bold text, an empty line ends a paragraph."""
        return self._text

    @content.setter
    def content(self, text: str) -> None:
        self.show(text)

    def show(self, text: str, colour: str = "inherit") -> None:
        """Show a text in a CSS colour."""
        if (text, colour) != (self._text, self._colour):
            self._text, self._colour = text, colour
            self._html.content = self._render()

    def _render(self) -> str:
        text = _BOLD.sub(r"<b>\1</b>", escape(self._text)).replace("\n\n", "<br>")
        return _BOX.format(height=LINE * self._lines, line=LINE, colour=self._colour, text=text)
