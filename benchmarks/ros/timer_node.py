# SPDX-License-Identifier: Apache-2.0
"""The dynamics node as it would be without a thread: a timer of rclpy steps the same plant, which publishes the same.

`python -m benchmarks.ros.timer_node --ros-args -p robot:=pa10`. It has the name, parameters and topics of the real one;
all of that shares one executor with the timer, as rclpy has it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from rclpy.node import Node

from ada_robot.node.command_inputs import CommandInputs
from ada_robot.node.dynamics_settings import DynamicsSettings
from ada_robot.node.state_publishers import StatePublishers
from ada_robot.ros.parameters import Parameters
from ada_robot.ros.run_node import run_node
from ada_robot.simulated.plant import Plant
from ada_robot.simulated.source import load_robot, simulation_of
from ada_robot.timing.deadlines import TRACES, Deadlines, reduce_interpreter_jitter
from ada_robot.timing.periods import PeriodTrace


class TimerNode(Node):  # type: ignore[misc]  # rclpy is untyped
    """A plant that moves by one step whenever a timer calls.

    Attributes:
        plant: what moves.
        latest: its state as it was published last.
        is_ready: it is, once it is made.
    """

    is_ready = True

    def __init__(self) -> None:
        """Make the robot and start the timer."""
        super().__init__("dynamics_node")
        settings = Parameters(self, DynamicsSettings).value
        self.plant = Plant(simulation_of(load_robot(settings), settings))
        self.latest = self.plant.snapshot()
        self._every = round(settings.physics_rate / settings.publish_rate)
        self._outgoing = StatePublishers(self, self.plant.model, self.plant.dynamics, settings)
        self._incoming = CommandInputs(self, self.plant.model, self.plant.bounds, self, settings, self._now)
        self._period = 1.0 / settings.physics_rate
        self._trace = PeriodTrace(Path(os.environ[TRACES]) / "physics.npy")
        reduce_interpreter_jitter()
        now = time.monotonic_ns()
        self._deadlines = Deadlines(now)
        self._deadlines.follow(self._period, now)
        self.create_timer(self._period, self._tick)

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds) * 1e-9

    def post(self, action: Callable[[], Any]) -> Future[Any]:
        """Commands act at once: the executor's thread is the only one."""
        done: Future[Any] = Future()
        done.set_result(action())
        return done

    change = post

    def _tick(self) -> None:
        now = time.monotonic_ns()
        late = now - self._deadlines.next
        self._deadlines.meet(now, 0)  # the timer, too, forgets periods that it missed
        self._trace.add(now, late, 1)
        self._incoming.listen()
        self.plant.advance(1)
        if self.plant.steps % self._every == 0:
            self.latest = self.plant.snapshot()._replace(stamp=self.get_clock().now().nanoseconds)
            self._outgoing.publish(self.latest)

    def close(self) -> None:
        """Write the wake-ups."""
        self._trace.save()


if __name__ == "__main__":
    sys.exit(run_node(TimerNode, sys.argv[1:]))
