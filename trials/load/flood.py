# SPDX-License-Identifier: Apache-2.0
"""10 000 commands a second for an emulated PA-10: from who holds it, from a second one, and malformed ones."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.process import EmulatorProcess
from benchmarks.ros.world import Process
from trials.faults.case import STOP, TRIES
from trials.graph.graph import Graph, in_phase, phase_of, report_on
from trials.load.figure import Figure, Trial, Window, memory, periods

RATE = 10_000  # [Hz]
GROWTH = 20.0  # [MB]
_ARM = report_on("hardware_node: pa10")
STOPS = "hardware_node/stop"
# Who sends nothing is waited for: only a robot that stops itself, or is stopped, ends.
PATIENT = {"pa10.safety.hold_without_commands": True}
_SAYS = 2.5  # [s] until a report says what happened


def flood(kind: str, *, is_second: bool) -> Trial:
    """A flood of commands; second: while another one has the robot."""
    name = "flood of a second commander" if is_second else f"flood of {kind} commands"
    return Trial(name, lambda seconds: _run(kind, seconds, is_second=is_second))


def _run(kind: str, seconds: float, *, is_second: bool) -> Sequence[Figure]:
    for _ in range(TRIES):
        with Graph() as graph, EmulatorProcess("pa10") as device:
            node = graph.arm(device, autostart="active", values=PATIENT)
            graph.eye()
            graph.ask(STOPS)
            graph.wait(in_phase("active", "stopped"))
            if is_second:
                graph.commander("--speed", "0.1", name="holder").ready()
            time.sleep(0.5)
            before = _watched(seconds)
            if phase_of(graph.newest(phase_of)) == "active":
                return _flooded(graph, device, node, before, kind, is_second=is_second)
    raise AdaError(f"in {TRIES} tries the robot stopped before the flood began: this machine is too busy")


def _flooded(
    graph: Graph, device: EmulatorProcess, node: Process, before: Window, kind: str, *, is_second: bool
) -> Sequence[Figure]:
    """The robot is active; now the flood, and a stop in it."""
    seconds = before[1] - before[0]
    had, heavy = _counts(graph), memory(node.pid)
    sender = graph.commander(
        *("--rate", str(RATE), "--speed", "-0.1" if is_second else "0.02"),
        *("--kind", kind, "--seconds", str(seconds + _SAYS)),
        name="flooder",
    ).ready()
    during = _watched(seconds)
    at, state, grown = time.monotonic(), phase_of(graph.newest(phase_of)), memory(node.pid) - heavy
    graph.ask(STOPS)
    answered = graph.wait(lambda one: "answer" in one, at)
    stopped = graph.wait(in_phase("stopped"), at)
    sender.wait(60.0)
    time.sleep(_SAYS)
    counts, sent = _counts(graph), graph.told["flooder"][-1]
    words = [str(one["diagnostics"]["values"]["last refusal"]) for one in graph.seen if _ARM(one)]
    problems = device.violations()
    node.stop()
    return [
        Figure("sent [1/s]", sent["sent"] / sent["seconds"]),
        *_shares({key: counts[key] - had.get(key, 0) for key in counts}, sent["sent"]),
        *_cycles(graph, before, during),
        Figure("memory of the node, more by [MB]", grown, GROWTH),
        Figure("the robot is active until the stop (1: yes)", float(state == "active"), 1.0, at_least=True),
        Figure("demands that no robot may get", len(problems), 0),
        Figure("words on a refusal (1: yes)", float(any(_names(kind, is_second, one) for one in words)), 1.0, True),
        Figure("a stop is answered after [s]", answered["answer"]["seconds"], STOP),
        Figure("the robot is stopped after [s]", stopped["at"] - at, STOP),
    ]


def _names(kind: str, is_second: bool, words: str) -> bool:
    """True if a refusal names what is wrong; where nothing is, old commands alone are refused."""
    if is_second:
        return "commands of /flooder are refused" in words
    return kind == "plain" or any(
        text in words for text in ("finite", "values for", "is empty", "duplicate joint", "unknown")
    )


def _watched(seconds: float) -> Window:
    begin = time.monotonic()
    time.sleep(seconds)
    return begin, time.monotonic()


def _counts(graph: Graph) -> dict[str, int]:
    """What was taken and refused so far, in the newest report."""
    graph.wait(_ARM)
    values = graph.newest(_ARM)["diagnostics"]["values"]
    return {key: int(text) for key, text in values.items() if key == "commands taken" or key.startswith("refused: ")}


def _shares(new: dict[str, int], sent: int) -> list[Figure]:
    figures = [Figure(f"{key} [% of those sent]", 100.0 * count / sent) for key, count in new.items() if count]
    return [*figures, Figure("passed over unread [% of those sent]", 100.0 * (1.0 - sum(new.values()) / sent))]


def _cycles(graph: Graph, before: Window, during: Window) -> list[Figure]:
    found = []
    for name, file in (("cycle", "cycle"), ("node's thread", "hardware")):
        for when, window in (("before", before), ("during", during)):
            p50, p99, longest = periods(graph.folder / f"{file}.npy", window)
            found.append(Figure(f"{name} {when}: p50 / p99 / max [ms]", f"{p50:.2f} / {p99:.2f} / {longest:.1f}"))
    return found


TRIALS = (flood("plain", is_second=False), flood("plain", is_second=True), flood("malformed", is_second=False))
