# SPDX-License-Identifier: Apache-2.0
"""MJCF's <include>: the children of another file's root stand where the element stood, each file once.

As in MuJoCo a name is looked up beside the main file first, then beside the file that includes. Other than there it
must lead to the main file's folder, the one above that, or below them: a description from elsewhere must not get at
whatever lies on this machine. A text has no folder, and includes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from ada_dynamics.errors import ModelError
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.xml import Element, parse_xml
from ada_dynamics.structured_text.files import read_file

MOST_DEEP = 50  # files that include one another in a row


def folder_of(file: str) -> Path | None:
    """Where relative names of a document start; None for a text that is no file."""
    try:
        return Path(file).absolute().parent if Path(file).is_file() else None
    except (OSError, ValueError):
        return None


class Includes:
    """Puts included files in place; elements of them know their file."""

    def __init__(self, file: str, sink: Sink) -> None:
        """Args: name of the main document, and where problems go."""
        self._file, self._sink = file, sink
        self._folder = folder_of(file)
        self._chain = [Path(file).resolve()] if self._folder else []
        self._met = set(self._chain)

    def expand(self, root: Element) -> None:
        """All includes below an element, at any depth."""
        pending = [root]
        while pending:
            element = pending.pop()
            if any(child.tag == "include" for child in element.children):
                element.children = [new for child in element.children for new in self._of(child)]
            pending.extend(element.children)

    def _of(self, element: Element) -> list[Element]:
        """The element itself, or the content of the file that it includes."""
        if element.tag != "include":
            return [element]
        name = element.attributes.get("file", "").strip()
        if not name:
            return self._refuse(element, "has no file.", 'Add file="...".')
        path = self._find(element, name)
        if path is None:
            return []
        if path in self._chain:
            way = " -> ".join(one.name for one in [*self._chain[self._chain.index(path) :], path])
            return self._refuse(element, f"includes {name!r}, which includes itself: {way}.", "Remove one of them.")
        if len(self._chain) > MOST_DEEP:
            return self._refuse(element, f"stands more than {MOST_DEEP} files deep.", "Include fewer in a row.")
        if path in self._met:
            return self._refuse(element, f"includes {name!r}, which is included already.", "MuJoCo takes a file once.")
        return self._content(element, path)

    def _content(self, element: Element, path: Path) -> list[Element]:
        try:
            root = parse_xml(read_file(path), str(path))
        except ModelError as problem:
            return self._refuse(element, f"cannot be read: {problem}", "")
        for inner in root.walk():
            inner.file = str(path)
        self._met.add(path)
        self._chain.append(path)
        found = []
        for child in root.children:
            for one in self._of(child):
                self.expand(one)
                found.append(one)
        self._chain.pop()
        return found

    def _find(self, element: Element, name: str) -> Path | None:
        if self._folder is None:
            fix = "A text has no folder to look in: load the file by its path."
            self._refuse(element, f"includes {name[:80]!r}.", fix)
            return None
        own = self._folder if element.file is None else Path(element.file).parent
        # as written, so that folders made of links, as colcon makes them, stay whole
        places = [Path(os.path.normpath(folder / name)) for folder in (self._folder, own)]
        above = self._folder.parent
        around = above if above != above.parent else self._folder  # never all of the file system
        inside = [place for place in places if place.is_relative_to(around)]
        if not inside:
            fix = "Put it into the folder of the main file, or the one above that."
            self._refuse(element, f"includes {name[:80]!r}, which is outside of {around}.", fix)
            return None
        for place in inside:
            if place.is_file():
                return place.resolve()
        looked = ", ".join(dict.fromkeys(map(str, inside)))
        self._refuse(element, f"includes {name[:80]!r}, which is not there.", f"Looked for: {looked}.")
        return None

    def _refuse(self, element: Element, message: str, fix: str) -> list[Element]:
        self._sink(Problem("include", element.line, "<include>", message, fix, element.file))
        return []
