# SPDX-License-Identifier: Apache-2.0
"""Problems of a description, and sinks for them: one raises the first, others collect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ada_dynamics.errors import ModelError


@dataclass(frozen=True)
class Problem:
    """Something that makes a description unusable."""

    code: str  # short name of the kind of problem, such as "duplicate-link"
    line: int | None
    where: str  # link, joint or element
    message: str
    fix: str = ""
    file: str | None = None  # where it stands, if not in the description itself

    def text(self, file: str) -> str:
        """One sentence or two that say where, what and the fix."""
        place = self.file or file
        if self.line is not None:
            place += f", line {self.line}"
        return f"{place}: {self.where}: {self.message} {self.fix}".rstrip()


Sink = Callable[[Problem], None]


def raising(file: str) -> Sink:
    """A sink that raises a ModelError at the first problem."""

    def sink(problem: Problem) -> None:
        raise ModelError(problem.text(file))

    return sink
