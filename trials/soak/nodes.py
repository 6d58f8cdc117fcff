# SPDX-License-Identifier: Apache-2.0
"""One slice: an emulated PA-10 on UDP, its node and cycle, a controller on a long path, and a simulated four-bar."""

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.messages.incoming import read_state
from ada_robot.timing.deadlines import DeadlineLoop
from ada_tools.bringup import Plan, plan
from ada_tools.bringup.processes import ParameterValue, params_text
from ada_tools.bringup.starter import TICK, Console, Starter
from trials.soak import watch
from trials.soak.steps import GRAVITY, rhombus

VARIANT = "7c"  # the older controller, which bears a silence of 0.4 s; a CE brakes after 10 ms
PIECE, POINTS = 10.0, 20  # [s] of the path, and points, that the controller is given at a time
PATIENCE = 120.0  # [s] until the arm follows: a first start compiles, and a machine may be busy
OFF = 5e-3  # [rad] from the path at the end of a piece
BUSY = 5.0  # [ms]: where 0.1 % of the wake-ups of a thread that only sleeps are later, the machine explains delays
LATE = 1.0  # [ms] that 99 % of the wake-ups of each loop keep elsewhere
_HOME = np.array([0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0])  # [rad]
_RATES = 0.06 * np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0])  # [rad/s], no two of which have a common measure
_WIDTH = 0.2  # [rad]
_SHARES = ("p50", "p99", "p99.9", "max")
_ERROR = b"\2"  # diagnostic_msgs/DiagnosticStatus
ENERGY = -np.sqrt(2.0) * GRAVITY  # [J] of the four-bar where it was let go before the first slice, at 135 degrees
BOUNDS = {"energy [J]": 1e-8, "gap [m]": 1e-14}  # of the four-bar, for a day
Tell = Callable[[str], object]


def path(phase: float) -> Array:
    """Angles of the arm at a phase [s] of its path, which never comes back to where it was."""
    return np.asarray(_HOME + _WIDTH * np.sin(_RATES * phase))


def run_slice(folder: Path, seconds: float, state: dict[str, Any], priority: int, tell: Tell) -> dict[str, Any]:
    """Start everything, let it work, end it, judge; the row of the slice.

    Args:
        folder: empty; gets recordings of the arm and what the nodes say.
        seconds: whole pieces of the path, or one shorter one, counted from when the arm follows.
        state: that the slice before has left.
        priority: of the nodes' loops, real-time, where the system allows it; 0: none.
        tell: gets lines of progress.

    Raises:
        AdaError: the arm never followed.
    """
    said = io.StringIO()
    emulator = {"variant": VARIANT, "start": path(state["phase"]).tolist()}
    with EmulatorProcess("pa10", emulator, seed=1) as device:
        bare = DeadlineLoop(1e-3, lambda due: None, name="bare thread")
        bare.start()
        with Starter(_plan(folder, device.url, state, priority), Console(said)) as starter:
            work = _Work(device, seconds, state["phase"], tell)
            starter.run(work.tick)
            growths = work.watch.growths() if work.began else {}
        work.close()
        bare.stop()
        problems = [f"device: {one.text}" for one in device.violations()] + work.problems
    (folder / "said.log").write_text(said.getvalue(), encoding="utf-8")
    if starter.is_interrupted:
        raise KeyboardInterrupt
    if not work.began:
        raise AdaError(f"the arm did not follow, within {PATIENCE:g} s; the nodes said:\n{said.getvalue()[-3000:]}")
    loop = work.loop
    delays = [f"{name}: {one['p99']:.2g} ms late at p99" for name, one in work.late.items() if one["p99"] > LATE]
    delays += [*work.reported, *work.delays]
    delays += [f"{one.process.name} ended with {one.code}" for one in starter.children if one.code]
    slept = bare.statistics.summary()
    late = (1e3 * one for one in (slept.late_p50, slept.late_p99, slept.late_p999, slept.late_max))
    sleeper = dict(zip(_SHARES, late, strict=True))
    is_busy = sleeper["p99.9"] > BUSY
    problems += [*loop.problems, *watch.problems(growths), *([] if is_busy else delays)]
    t, q, v = loop.last or (0.0, state["q"], state["v"])
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        "seconds": work.seconds,
        "processes": {name: {what: one._asdict() for what, one in found.items()} for name, found in growths.items()},
        "late [ms]": {"a thread that only sleeps": sleeper, **work.late},
        "states": loop.states,
        "simulation": loop.figures,
        "off the path [rad]": work.furthest,
        "by the machine": delays if is_busy else [],
        "problems": problems,
        "state": {"phase": work.phase, "t": state["t"] + t, "q": q, "v": v},
    }


def _plan(folder: Path, url: str, state: dict[str, Any], priority: int) -> Plan:
    """Nodes as `ada up` starts them: the arm at its address and its controller, and the four-bar that swings."""
    # A machine that is no real-time one stands still now and then: that is for other trials, this one shall go on.
    arm: dict[str, ParameterValue] = {
        "driver.device_timeout": 0.4,
        "safety.max_missed": 100,
        "safety.command_timeout": 1.0,
    }
    arm |= {"safety.host_timeout": 5.0, "safety.hold_without_commands": True, "safety.record_folder": str(folder)}
    parameters: dict[str, dict[str, ParameterValue]] = {
        "controller_node": {"max_gap": 5.0, "state_timeout": 5.0},
        "hardware_node": {"max_command_age": 1.0, **{f"pa10.{name}": value for name, value in arm.items()}},
        "dynamics_node": {"initial_positions": state["q"], "initial_velocities": state["v"]},
    }
    file = folder / "parameters.yaml"
    own = {"realtime_priority": priority}
    file.write_text("".join(params_text({**one, **own}, f"/**/{node}") for node, one in parameters.items()))
    quiet = {"view": "false", "rviz": "false", "params_file": str(file)}
    words = {"backend": "real", "url": url, "activate": "true", "controller": "joint_trajectory", "variant": VARIANT}
    one = plan("pa10_bringup", {**words, **quiet, "namespace": "arm"})
    other = plan("closed_chain", {**quiet, "namespace": "loop"})
    return Plan("soak", one.values, (*one.processes, *other.processes))


class _FourBar:
    """Energy and loop gap of the simulated four-bar, from the states that its node publishes.

    Attributes:
        states: how many have been read.
        figures: largest difference of the energy, and largest gap.
        last: time, positions and velocities; None before the first state.
    """

    def __init__(self, node: Any) -> None:
        from std_msgs.msg import Float64MultiArray

        from ada_robot.ros.inbox import Inbox
        from ada_robot.ros.qos import streams

        self._inbox = Inbox(node, Float64MultiArray, "/loop/dynamics_node/state", streams(1000))
        self.states, self.figures = 0, dict.fromkeys(BOUNDS, 0.0)
        self.last: tuple[float, list[float], list[float]] | None = None

    def look(self) -> None:
        """Read what has come since the last call."""
        for message in self._inbox.fetch():
            dimensions = message.layout.dim
            t, q, v, _ = read_state([one.label for one in dimensions], [one.size for one in dimensions], message.data)
            (energy,), (gap,) = rhombus(q[None], v[None])
            for name, value in zip(BOUNDS, (abs(energy - ENERGY), gap), strict=True):
                self.figures[name] = max(self.figures[name], float(value))
            self.states, self.last = self.states + 1, (t, q.tolist(), v.tolist())

    @property
    def problems(self) -> list[str]:
        """What is beyond its bound."""
        broken = [one for one, bound in BOUNDS.items() if not self.figures[one] <= bound]
        found = [f"four-bar: {one} is {self.figures[one]:.2g}, above {BOUNDS[one]:g}" for one in broken]
        return found if self.states else ["four-bar: no state came"]


class _Work:
    """Gives the controller its path, piece by piece, and looks at the processes."""

    def __init__(self, device: EmulatorProcess, seconds: float, phase: float, tell: Tell) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions
        from sensor_msgs.msg import JointState
        from trajectory_msgs.msg import JointTrajectory

        from ada_robot.ros import qos

        self.watch, self.problems, self.delays = watch.Watch(), list[str](), list[str]()
        self.phase, self.seconds, self.furthest, self.began = phase, 0.0, 0.0, 0
        self._device, self._tell, self._wanted = device, tell, seconds
        self._piece, self._every = min(PIECE, seconds), min(5.0, seconds / 20.0)
        self._hears = False  # that the controller tells where it wants the joints
        self._next, self._look, self._memory, self._deadline = 0.0, 0.0, 0.0, time.monotonic() + PATIENCE
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("soak", namespace="arm")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self.loop = _FourBar(self._node)
        self.late: dict[str, dict[str, float]] = {}  # of loops, as they report it last
        self.reported: dict[str, None] = {}  # errors in /diagnostics
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._take_diagnostics, 50)
        self._topic = self._node.create_publisher(JointTrajectory, "controller_node/joint_trajectory", qos.COMMANDS)
        self._heard = self._node.create_subscription(
            JointState, "controller_node/joint_target", lambda _: setattr(self, "_hears", True), qos.STATES
        )

    def tick(self) -> bool:
        """One look; True at the end."""
        now = time.monotonic()
        self.loop.look()
        if not self.began:
            self._executor.spin_once(timeout_sec=TICK)
            if self._hears and self._topic.get_subscription_count() and self._is_driven():
                self._node.destroy_subscription(self._heard)
                self.began = time.time_ns()
                self._send(now, self._piece)
            return now > self._deadline
        self._executor.spin_once(timeout_sec=TICK)
        if now >= self._look:
            self._memory, self._look = self.watch.look(), now + self._every
        if now < self._next or not self.watch.has_enough():
            return False
        self.seconds += self._piece
        off = float(np.abs(np.array(self._device.state()["position"]) - path(self.phase)).max())
        self.furthest = max(self.furthest, off)
        self.delays += [f"the arm was {off:.2g} rad off its path at phase {self.phase:g}"] if off > OFF else []
        self._tell(f"{self.seconds:g} of {self._wanted:g} s, {off:.1e} rad off the path, {self._memory:.0f} MB")
        self.problems += [] if self._is_driven() else ["the arm has stopped"]
        if self.problems or self.seconds > self._wanted - 0.5 * self._piece:
            return True
        self._send(now, 0.0 if off > OFF else self._piece)
        return False

    def _take_diagnostics(self, message: Any) -> None:
        """Delays of the loops and errors while the arm follows."""
        for status in message.status if self.began else ():
            values = {one.key: one.value for one in status.values}
            if "late p99 [ms]" in values:
                self.late[status.name] = {one: float(values[f"late {one} [ms]"]) for one in _SHARES}
            if status.level == _ERROR:
                self.reported[f"{status.name}: {status.message}"] = None

    def _is_driven(self) -> bool:
        return "braked" not in self._device.state()["ways"]

    def _send(self, now: float, length: float) -> None:
        """The next piece of the path from rest to rest, in most of its time; of no length: back to it."""
        from builtin_interfaces.msg import Duration
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        points = []
        for part in (np.arange(1, POINTS + 1) / POINTS if length else np.ones(1)).tolist():
            whole, rest = divmod(0.9 * self._piece * part, 1.0)
            angles = path(self.phase + length * part**3 * (10.0 - 15.0 * part + 6.0 * part**2))
            due = Duration(sec=int(whole), nanosec=int(1e9 * rest))
            points.append(JointTrajectoryPoint(positions=angles.tolist(), time_from_start=due))
        self._topic.publish(JointTrajectory(joint_names=self._device.state()["joints"], points=points))
        self.phase, self._next = self.phase + length, now + self._piece

    def close(self) -> None:
        """Leave the graph."""
        import rclpy

        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown()
