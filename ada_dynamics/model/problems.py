# SPDX-License-Identifier: Apache-2.0
"""Problems of a robot description, and callbacks that raise the first or collect all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ada_dynamics.errors import ModelError

_PART = re.compile(r"(joint|link|loop) (['\"])(.+?)\2")


@dataclass(frozen=True)
class Problem:
    """A defect of a robot description."""

    code: str  # identifier of the kind of problem, such as "duplicate-link"
    line: int | None
    where: str  # link, joint or element
    message: str
    fix: str = ""
    file: str | None = None  # of the defect, if it is not the description itself

    def text(self, file: str) -> str:
        """Message with location, problem and fix."""
        place = self.file or file
        if self.line is not None:
            place += f", line {self.line}"
        return f"{place}: {self.where}: {self.message} {self.fix}".rstrip()

    def error(self, file: str) -> ModelError:
        """Return the problem as an error with the file, the line, and the joint, link or loop."""
        found = _PART.match(self.where)
        parts = {found[1]: found[3]} if found else {}
        return ModelError(self.text(file), file=self.file or file, line=self.line, **parts)


Sink = Callable[[Problem], None]


def raising(file: str) -> Sink:
    """Return a callback that raises a ModelError for the first problem."""

    def sink(problem: Problem) -> None:
        raise problem.error(file)

    return sink
