# SPDX-License-Identifier: Apache-2.0
"""From a file to a log: what kind of file it is shows in its first bytes."""

from __future__ import annotations

from pathlib import Path

from ada_dynamics.errors import RecordingError
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.mcap_records import MCAP_MAGIC

_ZIP = b"PK"


def read_log(path: Path) -> Log:
    """Read an .npz or .mcap file; see `Log.load`."""
    beginning = first_bytes(path)
    if beginning.startswith(_ZIP):
        from ada_dynamics.simulation.record.npz import read_npz

        return read_npz(path)
    if beginning == MCAP_MAGIC:
        from ada_dynamics.simulation.record.mcap_reading import read_mcap

        return read_mcap(path)
    what = "is empty" if not beginning else "is neither an .npz nor an .mcap file"
    hint = " A .csv file has no model: read it with numpy.loadtxt." if path.suffix.lower() == ".csv" else ""
    raise RecordingError(f"{path} {what}; Log.load reads what Log.save, Log.to_mcap and recordings wrote.{hint}")


def first_bytes(path: Path) -> bytes:
    """As many as tell the kind of a file.

    Raises:
        RecordingError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(MCAP_MAGIC))
    except OSError as problem:
        raise RecordingError(f"{path} cannot be read: {problem.strerror or problem}.") from None
