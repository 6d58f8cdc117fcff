# SPDX-License-Identifier: Apache-2.0
"""What a target has been through since its last crash: a file in its folder, which later calls add to."""

from __future__ import annotations

import json
import resource
from dataclasses import asdict, dataclass
from pathlib import Path

_FILE = "counts.json"


@dataclass(frozen=True)
class Counts:
    """Sums over all calls.

    Attributes:
        runs: inputs that were tried.
        seconds: of the processor for them, with all that chooses them [s].
        slowest: of the processor for the most expensive one [s].
        input: the latter's bytes, as hexadecimal digits.
        megabytes: largest memory of a process.
    """

    runs: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    input: str = ""
    megabytes: float = 0.0

    @classmethod
    def read(cls, folder: Path) -> Counts:
        """Those of a folder; none where it has no file."""
        path = folder / _FILE
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else cls()

    def write(self, folder: Path) -> None:
        """In one step: the process may be ended at any time."""
        temporary = folder / f"{_FILE}.new"
        temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
        temporary.replace(folder / _FILE)

    def and_(self, runs: int, seconds: float, slowest: float, data: bytes) -> Counts:
        """These and what this process has done; arguments as the attributes, with the bytes as they are."""
        worst = (slowest, data.hex()) if slowest > self.slowest else (self.slowest, self.input)
        return Counts(self.runs + runs, self.seconds + seconds, *worst, max(self.megabytes, peak()))

    @staticmethod
    def forget(folder: Path) -> None:
        """Begin anew: what was counted, was another program."""
        (folder / _FILE).unlink(missing_ok=True)


def peak() -> float:
    """Largest memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
