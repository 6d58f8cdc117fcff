# SPDX-License-Identifier: Apache-2.0
"""Which tests run a line: each file of tests once, on the clean tree, line by line under coverage."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

from trials.mutants.child import Plan, tested
from trials.mutants.sites import Site

IMPORT = ""  # the "test" of lines that run when the module is imported


class _Watch:
    """Plugin: lines by test, and how each test did.

    Kernels on the disk are forgotten before each test: who finds one there does not run the lines that made it.
    """

    def __init__(self, watched: coverage.Coverage) -> None:
        self.watched = watched
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        shutil.rmtree(os.environ["ADA_CACHE_DIR"], ignore_errors=True)
        self.watched.switch_context(item.nodeid)
        began = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - began
        self.watched.switch_context(IMPORT)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def watch(tests: str, sources: Sequence[Path], folder: Path) -> dict[str, Any]:
    """Work of a child, for a file of tests.

    Returns:
        seconds of each test (of the processor's, for machines that have other work), which of them failed, and
        {source: {line: tests}}, as the bits of a number: the first bit is the import, the second the first test.
    """
    watched = coverage.Coverage(data_file=None, config_file=False, include=[str(path) for path in sources])
    seen = _Watch(watched)
    watched.start()
    watched.switch_context(IMPORT)
    status = tested(tests, folder, seen)
    watched.stop()
    if status > 1 and not seen.failed:
        seen.failed.append(f"{tests} (pytest's status {status})")
    bits = {name: 1 << i for i, name in enumerate([IMPORT, *seen.seconds])}
    data, lines = watched.get_data(), {}
    for path in sources:
        by_line = data.contexts_by_lineno(str(path)).items()
        lines[path.as_posix()] = {line: sum({bits.get(name, 0) for name in names}) for line, names in by_line}
    return {"lines": lines, "seconds": seen.seconds, "failed": seen.failed}


class Reach(NamedTuple):
    """What `watch` found, of each file of tests."""

    root: Path
    found: Mapping[str, dict[str, Any]]

    def plan(self, site: Site, budget: float, patience: float) -> tuple[Plan, float]:
        """Tests that may see a change, and their seconds on the clean tree, which do not pass a budget.

        A test may take four times as long as the longest of its file there, and some patience.
        First those that run its statement, the shortest files first. Then those that use what it makes on import, a
        constant or a default; then the other tests of files where it runs, which may have it from a fixture; likewise.
        """
        groups: tuple[dict[str, list[str]], ...] = ({}, {}, {})
        for tests, one in self.found.items():
            lines = one["lines"].get((self.root / site.file).as_posix(), {})
            here = used = 0
            for line, bits in lines.items():
                here |= bits if site.lines[0] <= int(line) <= site.lines[1] else 0
                used |= bits if int(line) in site.users else 0
            if here:
                for i, name in enumerate(one["seconds"], start=1):
                    if name not in one["failed"]:
                        nearness = 0 if here >> i & 1 else 1 if used >> i & 1 else 2
                        groups[nearness].setdefault(tests, []).append(name)
        plan: list[tuple[str, list[str], float]] = []
        spent = 0.0
        for group in groups:
            for tests, names in sorted(group.items(), key=lambda one: self._seconds(*one)):
                chosen, seconds = [], self.found[tests]["seconds"]
                for name in sorted(names, key=lambda name: (seconds[name], name)):
                    if spent + seconds[name] <= budget:
                        spent += seconds[name]
                        chosen.append(name)
                if chosen:
                    plan.append((tests, chosen, patience + 4.0 * max(seconds.values())))
        return plan, spent

    def _seconds(self, tests: str, names: Sequence[str]) -> float:
        seconds: Mapping[str, float] = self.found[tests]["seconds"]
        return sum(seconds[name] for name in names)


def digest(*texts: str) -> str:
    """Of what a result was found for."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
