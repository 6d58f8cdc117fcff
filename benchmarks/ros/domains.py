# SPDX-License-Identifier: Apache-2.0
"""DDS domains of this machine: one that nobody else uses, and what killed processes leave behind in it."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ada_dynamics.errors import AdaError

DOMAINS = range(1, 101)  # all ports of these domains lie below those that Linux hands out by itself
# One process, and several at once (their numbers are neighbours), do not come back to a domain for long: others still
# see the topics of a process that was killed there.
_LATER = itertools.count(37 * os.getpid())


@contextlib.contextmanager
def own_domain() -> Iterator[int]:
    """A domain id that no other process holds through this function, and in which nothing else runs.

    A killed process gives it back too.

    Raises:
        AdaError: all are in use.
    """
    folder = Path(tempfile.gettempdir())
    first = next(_LATER)
    for i in range(len(DOMAINS)):
        domain = DOMAINS[(first + i) % len(DOMAINS)]
        lock = open_lock(folder / f"ada_dynamics_test_domain_{domain}.lock")
        if lock is None:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        if _is_used(domain):  # by programs that know nothing of these locks, such as a robot's own
            os.close(lock)
            continue
        try:
            yield domain
        finally:
            _sweep(domain)
            os.close(lock)
        return
    raise AdaError(
        f"all DDS domains {DOMAINS[0]} to {DOMAINS[-1]} are in use; see {folder}/ada_dynamics_test_domain_*.lock"
    )


def ports_of(domain: int) -> range:
    """UDP ports of a domain (RTPS 2.2, 9.6.1.1)."""
    return range(7400 + 250 * domain, 7400 + 250 * (domain + 1))


def open_lock(path: Path) -> int | None:
    """A file to lock; None where it cannot be had."""
    # In a shared folder, opening the file of another user with O_CREAT is refused (fs.protected_regular).
    for flags in (os.O_CREAT, 0):
        with contextlib.suppress(OSError):
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o644)
    return None


def _is_used(domain: int) -> bool:
    """Return True if a program of this machine listens at one of a domain's ports."""
    ports = ports_of(domain)
    tables = [Path(f"/proc/net/{name}") for name in ("udp", "udp6")]
    rows = [row.split() for table in tables if table.exists() for row in table.read_text().splitlines()[1:]]
    return any(int(row[1].rpartition(":")[2], 16) in ports for row in rows)


def _sweep(domain: int) -> None:
    """Remove the mailboxes in shared memory that killed processes have left behind, lest the next ones find them."""
    for path in Path("/dev/shm").glob("*fast*_port*"):
        number = re.search(r"_port(\d+)", path.name)
        if number and int(number[1]) in ports_of(domain):
            with contextlib.suppress(OSError):
                path.unlink()
