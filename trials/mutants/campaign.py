# SPDX-License-Identifier: Apache-2.0
"""Draw changes of a room's files, judge each once, and keep the verdicts: a run that was stopped goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from trials.mutants.child import finished, forked, judge, judge_change
from trials.mutants.reach import Reach, digest, watch
from trials.mutants.rooms import Room
from trials.mutants.sites import Site, difference, mutated, sites

Result = dict[str, Any]
WATCHING = 1800.0  # [s] of the clock: a file of tests may take on the clean tree, and a change that waits for nothing


class Drawn(NamedTuple):
    """A change: its site, the text around it and what it becomes."""

    site: Site
    text: str
    changed: str
    sha: str

    @property
    def key(self) -> str:
        """What finds its result again."""
        return f"{self.site.file} {self.sha} {self.site.key}"


class Campaign:
    """One room's, in two files of a folder: ROOM.reach.json, and ROOM.jsonl with a line for each verdict."""

    def __init__(self, name: str, room: Room, folder: Path, seed: int, jobs: int, budget: float) -> None:
        """Args: names of the files; jobs at a time; seconds of tests that a change may take; see `Reach.plan`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.room, self.jobs, self.budget, self.patience = room, jobs, budget, 20.0
        self.texts = {file: (room.root / file).read_text(encoding="utf-8") for file in room.source_files()}
        self.tests = {file: (room.root / file).read_text(encoding="utf-8") for file in room.test_files()}
        self.judges = digest(*self.tests.values())
        self.kept, self.reached = folder / f"{name}.jsonl", folder / f"{name}.reach.json"
        self.sites = sorted(
            (site for file, text in self.texts.items() for site in sites(file, text, seed)), key=lambda one: one.rank
        )
        self.reach = Reach(room.root, {})

    def draw(self, count: int) -> list[Drawn]:
        """The first changes of a room, in the order of its seed."""
        drawn: list[Drawn] = []
        for site in self.sites:
            if len(drawn) == count:
                break
            text = self.texts[site.file]
            changed = mutated(text, site.operator, site.occurrence)
            if changed is not None:
                drawn.append(Drawn(site, text, changed, digest(text)))
        return drawn

    def run(self, drawn: list[Drawn], tell: Callable[[Result], None]) -> dict[str, Result]:
        """Verdicts by key.

        A test that kills must pass on the clean tree once more; where it does not, it judges no more.
        """
        self.find_reach()
        while True:
            results = self.results()
            waiting = [one for one in drawn if one.key not in results]
            if not waiting:
                if self._doubtful(results[one.key] for one in drawn):
                    continue
                return {one.key: results[one.key] for one in drawn}
            with self.kept.open("a", encoding="utf-8") as file:
                for result in self._judged(waiting):
                    file.write(json.dumps(result, ensure_ascii=False) + "\n")
                    file.flush()
                    tell(result)

    def results(self) -> dict[str, Result]:
        """Verdicts that still hold: of the same text, by a test that is trusted; survivors of the same tests."""
        found: dict[str, Result] = {}
        if self.kept.exists():
            for line in self.kept.read_text(encoding="utf-8").splitlines():
                one = json.loads(line)
                found[one["key"]] = one
        trusted = {name for one in self.reach.found.values() for name in {*one["seconds"]} - {*one["failed"]}}
        trusted |= {f"{file} (import)" for file in self.tests}
        return {key: one for key, one in found.items() if one.get("by", "") in trusted or one["judges"] == self.judges}

    def find_reach(self) -> None:
        """Which tests run which lines, where it is not known of these texts."""
        known = json.loads(self.reached.read_text(encoding="utf-8")) if self.reached.exists() else {}
        shas = {file: digest(text, *self.texts.values()) for file, text in self.tests.items()}
        found = {file: known[file] for file in self.tests if file in known and known[file]["sha"] == shas[file]}
        sources = [self.room.root / file for file in self.texts]
        work = [(file, partial(watch, file, sources), WATCHING) for file in self.tests if file not in found]
        for file, answer in self._in_parallel(work):
            if "lines" not in answer:
                answer = {"lines": {}, "seconds": {}, "failed": [f"{file} ({answer})"]}
            found[file] = answer | {"sha": shas[file]}
            self._keep_reach(found)
        self.reach = Reach(self.room.root, json.loads(json.dumps(found)))

    def unreached(self) -> list[tuple[str, int]]:
        """File and first line of statements that no test runs, within the budget: what is changed there survives."""
        self.find_reach()
        return sorted({(one.file, one.lines[0]) for one in self.sites if not self.reach.plan(one, self.budget, 0.0)[0]})

    def failures(self) -> list[str]:
        """Tests that do not pass on the clean tree, or not every time."""
        return [name for one in self.reach.found.values() for name in one["failed"]]

    def _keep_reach(self, found: dict[str, Any]) -> None:
        written = self.reached.with_suffix(".new")
        written.write_text(json.dumps(found), encoding="utf-8")
        written.replace(self.reached)

    def _judged(self, waiting: Iterable[Drawn]) -> Iterator[Result]:
        work, of = [], {}
        for one in waiting:
            plan, seconds = self.reach.plan(one.site, self.budget, self.patience)
            of[one.key] = one
            job = partial(judge_change, self.room.root / one.site.file, one.changed, plan)
            work.append((one.key, job, WATCHING + 40.0 * seconds))
        for key, answer in self._in_parallel(work):
            one = of[key]
            was, now = difference(one.text, one.changed)
            about = {"key": key, "file": one.site.file, "line": one.site.place[0], "operator": one.site.operator}
            yield about | {"was": was, "now": now, "judges": self.judges} | answer

    def _doubtful(self, results: Iterable[Result]) -> bool:
        """Whether some test that killed fails, in the same way, where nothing is changed."""
        killers, doubtful = {str(one["by"]) for one in results if one.get("by") is not None}, False
        work: dict[str, list[str]] = {}
        for file, one in self.reach.found.items():
            fresh = sorted(killers & {*one["seconds"]} - {*one.get("passed_again", ())})
            if fresh:
                work[file] = fresh
        jobs = [(file, partial(judge, [(file, names, WATCHING)]), WATCHING) for file, names in work.items()]
        for file, answer in self._in_parallel(jobs):
            one = self.reach.found[file]
            if answer["verdict"] == "survived":
                one["passed_again"] = sorted({*one.get("passed_again", ()), *work[file]})
            else:
                doubtful = True
                one["failed"] += [answer["by"]] if answer["verdict"] == "killed" else work[file]
        if work:
            self._keep_reach(dict(self.reach.found))
        return doubtful

    def _in_parallel(self, work: Iterable[tuple[str, Any, float]]) -> Iterator[tuple[str, Any]]:
        """Answers of children, {name, work, seconds at most}, as they come."""
        waiting, names = list(reversed(list(work))), {}
        children: dict[int, tuple[Path, float]] = {}
        begun: dict[int, float] = {}
        while waiting or children:
            while waiting and len(children) < self.jobs:
                name, job, seconds = waiting.pop()
                child, folder = forked(job)
                names[child], begun[child] = name, time.monotonic()
                children[child] = folder, time.monotonic() + seconds
            for child, answer in finished(children):
                yield names[child], answer | {"wall": round(time.monotonic() - begun[child], 1)}
            time.sleep(0.02)
