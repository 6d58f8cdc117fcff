# SPDX-License-Identifier: Apache-2.0
"""A file of results and states, a line of JSON each, that a later call goes on from."""

import json
import os
from pathlib import Path
from typing import Any

from ada_dynamics.structured_text.files import to_json


class Ledger:
    """Rows, the oldest first, that outlive a process that is killed; of a torn line nothing remains."""

    def __init__(self, path: Path) -> None:
        """Args: the file, which is made where there is none."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        whole, end, _ = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(whole + end))
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines()]
        self._path = path

    def append(self, row: dict[str, Any]) -> None:
        """Add a row; it is on the disk on return."""
        line = to_json(row)
        with self._path.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows.append(json.loads(line))  # as a later call finds it
