# SPDX-License-Identifier: Apache-2.0
"""The threads of a deadline loop and of a plant on the real clock: starts, ends, and posted functions."""

from __future__ import annotations

import threading

import pytest
from simulated_world import plant
from waiting import LIMIT

from ada_dynamics.errors import AdaError
from ada_robot.node.plant_loop import PlantLoop
from ada_robot.simulated.plant import Snapshot
from ada_robot.timing.deadlines import DeadlineLoop


def test_a_loop_ends_in_the_middle_of_a_long_sleep() -> None:
    ticked = threading.Event()
    loop = DeadlineLoop(1e-3, lambda n: ticked.set(), name="real")
    loop.start()
    assert ticked.wait(LIMIT)
    loop.period = 1e4
    assert loop.post(lambda: threading.current_thread().name).result(LIMIT) == "real"
    assert loop.stop(LIMIT) and not loop.is_running


def test_a_start_that_a_signal_interrupts_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    loop = DeadlineLoop(1e-3, lambda n: None)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            loop.start()
    assert loop.stop() and not loop.is_running
    loop.start()
    assert loop.is_running and loop.stop(LIMIT)


def test_a_second_start_changes_nothing_and_stop_returns_false_while_a_tick_does_not_return() -> None:
    inside, leave = threading.Event(), threading.Event()
    threads: set[threading.Thread] = set()

    def tick(n: int) -> None:
        threads.add(threading.current_thread())
        inside.set()
        leave.wait(LIMIT)

    loop = DeadlineLoop(0.0, tick, name="stuck")
    loop.start()
    assert inside.wait(LIMIT)
    loop.start()
    assert loop.stop(timeout=0.0) is False
    for begin in (loop.start, loop.run):
        with pytest.raises(AdaError):
            begin()
    leave.set()
    assert loop.stop(LIMIT) and len(threads) == 1


def test_the_physics_publishes_the_initial_state_before_its_first_step() -> None:
    published: list[int] = []
    enough = threading.Event()

    def publish(snapshot: Snapshot) -> None:
        published.append(snapshot.step)
        if len(published) == 3:
            enough.set()

    loop = PlantLoop(plant(robot="planar_3r", idle="release"), publish, every=4)
    loop.start()
    assert enough.wait(LIMIT)
    assert loop.stop(LIMIT)
    assert published[:3] == [0, 4, 8]
