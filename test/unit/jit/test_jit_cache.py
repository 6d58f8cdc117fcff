# SPDX-License-Identifier: Apache-2.0
"""The object cache: found again, never trusted blindly, safe among processes."""

import logging
import os
from pathlib import Path

import numpy as np
import pytest
from jit_examples import kernel_of, key_of, square, states

from ada_dynamics.jit import Kernel, ObjectCache, Signature, cache

FUNCTION = square()
pytestmark = pytest.mark.usefixtures("own_cache")


def _entries() -> list[Path]:
    return sorted(Path(os.environ["ADA_CACHE_DIR"]).glob("*.adaobj"))


def _run(kernel: Kernel) -> np.ndarray:
    return kernel.single(*(array[0] for array in states(FUNCTION, 1)))


def _again() -> Kernel:
    return Kernel(Signature.of(FUNCTION), pytest.fail, key_of(FUNCTION))


def _fill() -> np.ndarray:
    return _run(kernel_of(FUNCTION))


def test_a_cached_kernel_is_loaded_without_tracing():
    expected = _fill()
    again = _again()
    assert np.array_equal(_run(again), expected)
    assert again.info().cached == {"single": True}
    assert again.info().flops == kernel_of(FUNCTION).info().flops


def test_another_key_signature_or_option_is_another_entry():
    _fill()
    for kernel in (
        Kernel(Signature.of(FUNCTION), lambda: FUNCTION, "other"),
        kernel_of(square(size=6)),
        kernel_of(FUNCTION, checked=False),
        kernel_of(FUNCTION, target="sse2"),
    ):
        kernel.single(*(np.zeros(size) for _, size in kernel.signature.inputs))
        assert kernel.info().cached == {"single": False}
    assert len(_entries()) == 5


@pytest.mark.parametrize(
    "damage", [lambda d: d[:20], lambda d: d[:-1], lambda d: b"", lambda d: d[:90] + b"?" + d[91:]]
)
def test_a_corrupted_object_is_recompiled(damage, caplog):
    expected = _fill()
    (path,) = _entries()
    good = path.read_bytes()
    path.write_bytes(damage(good))
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        kernel = kernel_of(FUNCTION)
        assert np.array_equal(_run(kernel), expected)
    assert kernel.info().cached == {"single": False}
    assert str(path) in caplog.text
    assert path.read_bytes()[:8] == cache.MAGIC
    assert _run(_again()) is not None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_directory_that_others_may_write_is_neither_read_nor_written(mode, caplog):
    _fill()
    directory = Path(os.environ["ADA_CACHE_DIR"])
    (path,) = _entries()
    before = path.stat().st_mtime_ns
    directory.chmod(mode)
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        for _ in range(3):
            kernel = kernel_of(FUNCTION)
            _run(kernel)
            assert kernel.info().cached == {"single": False}
    assert len(caplog.records) == 1, "one line, not one for each kernel"
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_may_write_is_not_loaded(mode):
    _fill()
    _entries()[0].chmod(mode)
    kernel = kernel_of(FUNCTION)
    _run(kernel)
    assert kernel.info().cached == {"single": False}
    assert _run(_again()) is not None, "a good entry took its place"


def test_files_of_somebody_else_are_not_loaded(monkeypatch):
    _fill()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    kernel = kernel_of(FUNCTION)
    _run(kernel)
    assert kernel.info().cached == {"single": False}


def test_entries_and_their_directory_are_for_the_user_alone():
    _fill()
    (path,) = _entries()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_link_is_not_followed(tmp_path):
    _fill()
    (path,) = _entries()
    moved = tmp_path / "elsewhere"
    path.rename(moved)
    path.symlink_to(moved)
    assert ObjectCache.default().load(path.stem) is None


def test_the_cache_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("ADA_CACHE", "off")
    _fill()
    assert _entries() == []


def test_a_cache_that_cannot_be_written_does_no_harm(monkeypatch, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    monkeypatch.setenv("ADA_CACHE_DIR", str(blocker / "objects"))
    assert _fill() is not None


def test_the_oldest_entries_go_first_when_the_limit_is_reached(tmp_path):
    store = ObjectCache(tmp_path / "objects", limit=3000)
    for index in range(5):
        store.store(f"key{index}", bytes(900), {})
        for other in range(index + 1):
            path = tmp_path / "objects" / f"key{other}.adaobj"
            if path.exists():
                os.utime(path, (1000 + other, 1000 + other))
    store.prune()
    left = sorted(path.stem for path in (tmp_path / "objects").iterdir())
    assert left == ["key2", "key3", "key4"]


def test_a_changed_source_file_changes_the_key(tmp_path):
    (tmp_path / "expr").mkdir()
    found = []
    for name, text in (("a.py", "x = 1"), ("a.py", "x = 1"), ("a.py", "x = 2"), ("b.py", ""), ("b.txt", "")):
        (tmp_path / "expr" / name).write_text(text)
        cache.source_hash.cache_clear()
        found.append(cache.source_hash(root=tmp_path))
    cache.source_hash.cache_clear()
    assert [found.index(one) for one in found] == [0, 0, 2, 3, 3]
