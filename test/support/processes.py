# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine, as Linux tells of them in /proc."""

from pathlib import Path


def is_alive(pid):
    """True if it runs; one that has ended and that nobody has asked about does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def descendants(pid):
    """All processes that it started, and those that they did."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def command_of(pid):
    """The words of its command line."""
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
