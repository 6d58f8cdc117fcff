# SPDX-License-Identifier: Apache-2.0
"""Cache of compiled objects on disk, keyed by a digest of all inputs of the compilation.

An entry consists of MAGIC, the SHA-256 of the remaining bytes, the length of the metadata, the metadata (JSON) and the
object. Entries are written to a temporary file and renamed, so that concurrent readers and writers see complete files.
Directories and files that another user owns or may write are not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

_log = logging.getLogger("ada_dynamics")

MAGIC = b"ADAOBJ01"
# Packages whose sources determine the generated code.
PACKAGES = ("expr", "jit", "spatial", "model", "algorithms", "constraints", "hybrid", "dynamics", "simulation", "gpu")
DEFAULT_LIMIT = 256 * 2**20
_SOURCES = Path(__file__).resolve().parents[1]
_SUFFIX = ".adaobj"
_FOREIGN = "another user owns the directory or may write to it"


class ObjectCache:
    """Directory of entries; no cache if `directory` is None."""

    def __init__(self, directory: Path | None, limit: int = DEFAULT_LIMIT) -> None:
        self.directory = directory
        self.limit = limit

    @staticmethod
    def default() -> ObjectCache:
        """Cache of the user: $ADA_CACHE_DIR, else ada_dynamics in $XDG_CACHE_HOME; none if ADA_CACHE=off."""
        if os.environ.get("ADA_CACHE", "").lower() in ("off", "0", "no", "false"):
            return ObjectCache(None)
        chosen = os.environ.get("ADA_CACHE_DIR")
        if chosen:
            return ObjectCache(Path(chosen))
        try:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        except RuntimeError:  # this user has no home
            return ObjectCache(None)
        return ObjectCache(base / "ada_dynamics" if base.is_absolute() else None)

    def load(self, key: str) -> tuple[bytes, dict[str, Any]] | None:
        """Load the object of a key and its metadata; None if it does not exist or cannot be trusted."""
        if self.directory is None or not self._is_ours():
            return None
        path = self.directory / (key + _SUFFIX)
        try:
            with open(path, "rb", opener=_open_no_link) as file:
                if not _is_private(os.fstat(file.fileno())):
                    _warn_once(str(path), "another user owns the file or may write to it")
                    return None
                entry = _decode(file.read())
                if entry is None:
                    _log.warning("cached object %s is damaged; it is compiled again", path)
                else:
                    with contextlib.suppress(OSError):
                        os.utime(file.fileno())  # the least recently used go first
                return entry
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn_once(str(path), str(error))
            return None

    def store(self, key: str, code: bytes, metadata: dict[str, Any]) -> None:
        """Store an object; log a warning if the cache cannot be written."""
        if self.directory is None:
            return
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            handle, temporary = tempfile.mkstemp(dir=self.directory, prefix=".writing-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_encode(code, metadata))
                Path(temporary).replace(self.directory / (key + _SUFFIX))
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
                raise
            if zlib.crc32(key.encode()) % 16 == 0:  # a scan of thousands of entries takes longer than a write
                self.prune()
        except OSError as error:
            _warn_once(str(self.directory), str(error))

    def prune(self) -> None:
        """Remove the least recently used entries above the size limit; safe with concurrent processes."""
        if self.directory is None:
            return
        found = []
        for item in os.scandir(self.directory):
            with contextlib.suppress(OSError):
                if item.name.endswith(_SUFFIX):
                    status = item.stat(follow_symlinks=False)
                    found.append((status.st_mtime_ns, status.st_size, item.path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self.limit:
                break
            with contextlib.suppress(OSError):
                Path(path).unlink()
            total -= size

    def size(self) -> int:
        """Size of all entries in bytes."""
        if self.directory is None or not self.directory.is_dir():
            return 0
        return sum(item.stat().st_size for item in os.scandir(self.directory) if item.name.endswith(_SUFFIX))

    def problem(self) -> str:
        """Reason why the cache cannot be used; "" if it can."""
        if self.directory is None:
            return "there is no cache"
        first = next(folder for folder in (self.directory, *self.directory.parents) if folder.exists())
        if not os.access(first, os.W_OK | os.X_OK):
            return f"{first} cannot be written"
        return _FOREIGN if first == self.directory and not _is_own_folder(os.lstat(first)) else ""

    def _is_ours(self) -> bool:
        assert self.directory is not None
        try:
            status = os.lstat(self.directory)
        except OSError:
            return False
        if _is_own_folder(status):
            return True
        _warn_once(str(self.directory), _FOREIGN)
        return False


@contextlib.contextmanager
def without_cache() -> Iterator[None]:
    """Disable the cache within the block, to measure compile times."""
    before = os.environ.get("ADA_CACHE")
    os.environ["ADA_CACHE"] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ["ADA_CACHE"]
        else:
            os.environ["ADA_CACHE"] = before


def digest(*parts: str) -> str:
    """Name of an entry: digest of parts in order."""
    text = "\0".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=8)
def source_hash(packages: Iterable[str] = PACKAGES, root: Path = _SOURCES) -> str:
    """Hash of the Python sources of packages of ada_dynamics, so that objects of other versions are not loaded."""
    total = hashlib.blake2b(digest_size=20)
    for package in packages:
        if (root / package).is_dir():
            _hash_folder(str(root / package), total)
    return total.hexdigest()


def _hash_folder(folder: str, total: hashlib.blake2b) -> None:
    """Hash a folder with system calls, because pathlib takes six times as long and every program start waits for it."""
    total.update(folder.rpartition("/")[2].encode() + b"/")
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            if entry.name.endswith(".py"):
                total.update(entry.name.encode() + b"\0")
                handle = os.open(entry.path, os.O_RDONLY)
                try:
                    while data := os.read(handle, 2**20):
                        total.update(data)
                finally:
                    os.close(handle)
            elif entry.name != "__pycache__" and entry.is_dir():
                _hash_folder(entry.path, total)


def _encode(code: bytes, metadata: dict[str, Any]) -> bytes:
    note = json.dumps(metadata).encode()
    content = struct.pack("<I", len(note)) + note + code
    return MAGIC + hashlib.sha256(content).digest() + content


def _decode(data: bytes) -> tuple[bytes, dict[str, Any]] | None:
    start = len(MAGIC) + 32
    if len(data) < start + 4 or not data.startswith(MAGIC):
        return None
    content = data[start:]
    if hashlib.sha256(content).digest() != data[len(MAGIC) : start]:
        return None
    (size,) = struct.unpack_from("<I", content)
    return content[4 + size :], json.loads(content[4 : 4 + size])


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))


def _is_own_folder(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and _is_private(status)


def _is_private(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):  # Windows, where the folder is in the user's profile, whose rights are inherited
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@lru_cache(maxsize=64)
def _warn_once(path: str, reason: str) -> None:
    _log.warning("object cache %s is not used: %s", path, reason)
