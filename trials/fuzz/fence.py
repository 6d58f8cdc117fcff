# SPDX-License-Identifier: Apache-2.0
"""Actions that no input may cause: opening other files or sockets, and starting processes.

Python's audit events tell of each, whoever asks; the hook stays for the process' life, asleep outside of `fence`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CODE = (".py", ".pyc", ".so", f"{os.sep}package.xml")  # what an import reads, and a search for packages
_FORBIDDEN = (
    *("socket.", "subprocess.", "shutil.", "tempfile.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser."),
    *("os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.kill", "os.chdir", "os.putenv"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.ch", "os.utime"),
    *("pickle.find_class", "ctypes.dlopen"),
)


class Escaped(BaseException):
    """The fence was touched. No Exception, so that what catches those does not hide it."""


class _Fence:
    """The state of the only hook."""

    def __init__(self) -> None:
        self.thread: int | None = None  # the one that is fenced in
        self.readable: tuple[str, ...] = ()
        self.escapes: list[str] = []

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit event."""
        if self.thread != threading.get_ident():
            return
        if event == "open":
            path, _, flags = arguments
            if self._may_open(path, flags):
                return
        elif not event.startswith(_FORBIDDEN):
            return
        self.escapes.append(f"{event} {arguments!r:.200}")
        raise Escaped(self.escapes[-1])

    def _may_open(self, path: object, flags: object) -> bool:
        if not isinstance(path, str | bytes | os.PathLike) or not isinstance(flags, int):
            return True  # a file that is open already
        name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - Path() costs more than all the rest here
        return not flags & _WRITES and (name.endswith(_CODE) or name.startswith(self.readable))


_FENCE = _Fence()
_ADDED: list[bool] = []


@contextmanager
def fence(readable: tuple[Path, ...] = ()) -> Iterator[None]:
    """Watch this thread.

    Args:
        readable: folders whose files may be read, beside Python's own modules.

    Raises:
        Escaped: something was opened or started that must not be.
    """
    if not _ADDED:
        sys.addaudithook(_FENCE.hear)
        _ADDED.append(True)
    _FENCE.escapes.clear()
    _FENCE.readable = tuple(f"{folder}{os.sep}" for folder in readable)
    _FENCE.thread = threading.get_ident()
    try:
        yield
    finally:
        _FENCE.thread = None
    if _FENCE.escapes:
        raise Escaped(_FENCE.escapes[0])
