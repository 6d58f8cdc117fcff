# SPDX-License-Identifier: Apache-2.0
"""Y3: pose servo of the PA-10 along a line and a circle, with elbow self-motion (Yamada, sec. 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import Model
from ada_experiments.pictures import picture, vector
from ada_tools.scenario.registry import Claim, Outcome, Progress, Table, experiment
from ada_tools.scenario.run import build_model
from ada_tools.scenario.scenario import Scenario, settings_of

if TYPE_CHECKING:
    from ada_controllers.state import PoseReference


_KNOWN = (
    "pose",
    "settle",
    "line",
    "radius",
    "duration",
    "period",
    "gain",
    "swing",
    "servo_bandwidth",
    "on_path",
    "ideal_on_path",
)
HAND, ELBOW, SWUNG = "flange", "link_4", "s3"
TURNED = np.deg2rad(0.2)  # [rad] allowed orientation error due to gravity deflection of the servos
STEP = 1e-3  # [s] of the simulation


@dataclass(frozen=True, eq=False)
class HandPath:
    """Position of the hand over time and its velocity."""

    name: str
    place: Callable[[float], Array]
    velocity: Callable[[float], Array]
    off: Callable[[Array], Array]  # distance of positions (n, 3) from the path [m]
    swing: float  # amplitude of the self-motion joint [rad]


@dataclass(frozen=True, eq=False)
class PathRun:
    """A followed path: path error and elbow position."""

    path: HandPath
    t: Array
    hand: Array  # (n, 3)
    off: Array  # distance from the path [m]
    turned: Array  # orientation error [rad]
    elbow: Array  # (n, 3)
    swung: Array  # self-motion joint [rad]
    commands: Array  # [rad/s]

    @property
    def elbow_travel(self) -> float:
        """Largest distance between two elbow positions [m]."""
        some = self.elbow[:: max(len(self.elbow) // 200, 1)]
        return float(np.max(np.linalg.norm(some[:, None] - some[None], axis=-1)))


@experiment("pose_servo_paths")
def pose_servo_paths(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Follow a line, a circle and a fixed pose, the last two with elbow motion; simulated and with an ideal robot."""
    use = settings_of(scenario, _KNOWN)
    model = build_model(scenario)
    start = np.array(use.vector("pose", ("rad",) * model.nq))
    duration, period = use.positive("duration", "s"), use.positive("period", "s")
    settle = use.positive("settle", "s")
    gain, bandwidth = use.positive("gain", "1"), use.positive("servo_bandwidth", "1")
    dynamics = Dynamics(model)
    paths = _paths(
        dynamics.pose(HAND, start)[:3, 3],
        np.array(use.vector("line", ("m",) * 3)),
        use.positive("radius", "m"),
        use.quantity("swing", "rad"),
        duration,
    )
    rides: dict[str, PathRun] = {}
    ideal: dict[str, PathRun] = {}
    for i, path in enumerate(paths):
        progress(i / len(paths), path.name)
        rides[path.name] = _simulated(model, dynamics, start, path, duration, period, gain, bandwidth, settle)
        ideal[path.name] = _ideal(model, dynamics, start, path, duration, period, gain)
    near, exact = use.positive("on_path", "m"), use.positive("ideal_on_path", "m")
    outcome = Outcome(_claims(rides, ideal, near, exact))
    outcome.tables.append(_table(rides, ideal))
    outcome.figures.append(picture(_panels(rides), output / "y3_paths.png", "Hand and elbow in simulation", columns=3))
    outcome.captions["y3_paths.png"] = "Rows: line, circle with elbow motion, fixed hand with elbow motion"
    return outcome


def _paths(begin: Array, line: Array, radius: float, swing: float, duration: float) -> list[HandPath]:
    """A line forth and back, a horizontal circle and a fixed position; each begins and ends at rest."""
    w = 2.0 * np.pi / duration
    direction = line / np.linalg.norm(line)

    def off_line(p: Array) -> Array:
        d = p - begin
        return np.asarray(np.linalg.norm(d - np.outer(d @ direction, direction), axis=1))

    centre = begin - [radius, 0.0, 0.0]

    def turn(t: float) -> tuple[float, float]:
        """Angle on the circle (one revolution) and its rate."""
        return w * t - np.sin(w * t), w * (1.0 - np.cos(w * t))

    def round_(t: float) -> Array:
        a = turn(t)[0]
        return np.asarray(centre + radius * np.array([np.cos(a), np.sin(a), 0.0]))

    def round_rate(t: float) -> Array:
        a, rate = turn(t)
        return np.asarray(radius * rate * np.array([-np.sin(a), np.cos(a), 0.0]))

    def off_circle(p: Array) -> Array:
        d = p - centre
        return np.hypot(np.hypot(d[:, 0], d[:, 1]) - radius, d[:, 2])

    return [
        HandPath(
            "line",
            lambda t: np.asarray(begin + 0.5 * (1.0 - np.cos(w * t)) * line),
            lambda t: np.asarray(0.5 * w * np.sin(w * t) * line),
            off_line,
            0.0,
        ),
        HandPath("circle", round_, round_rate, off_circle, swing),
        HandPath("hold", lambda t: begin, lambda t: np.zeros(3), lambda p: np.linalg.norm(p - begin, axis=1), swing),
    ]


class _PathServo:
    """A pose servo on a path, with self-motion of one joint."""

    def __init__(self, model: Model, dynamics: Dynamics, start: Array, path: HandPath, duration: float, gain: float):
        from ada_controllers import make

        self.controller = make(
            "pose_servo",
            model,
            {"link": HAND, "gain": gain, "null_space": "posture", "posture_joints": [SWUNG], "null_gain": 3.0},
        )
        self._path, self._R = path, dynamics.pose(HAND, start)[:3, :3]
        self._posture, self._column = start.copy(), model.q_index(SWUNG).start
        self._rate = 2.0 * np.pi / duration

    def reference(self, t: float) -> PoseReference:
        """Desired pose of the hand; also sets the desired posture."""
        from ada_controllers import PoseReference

        posture = self._posture.copy()
        posture[self._column] += self._path.swing * np.sin(self._rate * t)
        self.controller.posture = posture  # type: ignore[attr-defined]
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self._R, self._path.place(t)
        return PoseReference(pose, np.concatenate([self._path.velocity(t), np.zeros(3)]))


def _simulated(
    model: Model,
    dynamics: Dynamics,
    start: Array,
    path: HandPath,
    duration: float,
    period: float,
    gain: float,
    bandwidth: float,
    settle: float,
) -> PathRun:
    """On the simulated robot; the servos settle under gravity before the path begins."""
    from ada_controllers.in_simulation import InSimulation
    from ada_dynamics.simulation import JointServos

    rider = _PathServo(model, dynamics, start, path, duration, gain)
    loop = InSimulation(rider.controller, lambda t: rider.reference(max(t - settle, 0.0)), period=period)
    log = loop.simulation(model, start, step=STEP, servos=JointServos(bandwidth=bandwidth)).run(settle + duration)
    begin = round(settle / STEP)
    told = loop.signals["velocity"][loop.times >= settle]
    return _ride(dynamics, path, log.t[begin:] - settle, log.q[begin:], told)


def _ideal(
    model: Model, dynamics: Dynamics, start: Array, path: HandPath, duration: float, period: float, gain: float
) -> PathRun:
    """On a robot whose joints follow the velocity command exactly."""
    from ada_controllers import State

    rider = _PathServo(model, dynamics, start, path, duration, gain)
    q, v = start.copy(), np.zeros(model.nv)
    rider.controller.reset(State(q, v), 0.0)
    rows, told = [q.copy()], []
    times = np.asarray(np.arange(round(duration / period) + 1) * period, dtype=np.float64)
    for t in times[:-1].tolist():
        command = rider.controller.update(State(q, v), rider.reference(t), t)
        assert command.velocity is not None
        q = q + period * command.velocity
        rows.append(q)
        told.append(command.velocity)
    return _ride(dynamics, path, times, np.array(rows), np.array(told))


def _ride(dynamics: Dynamics, path: HandPath, t: Array, q: Array, told: Array) -> PathRun:
    poses = dynamics.pose(HAND, q)
    cosine = 0.5 * (np.einsum("nij,ij->n", poses[:, :3, :3], poses[0, :3, :3]) - 1.0)
    turned = np.arccos(np.clip(cosine, -1.0, 1.0))
    elbow = dynamics.pose(ELBOW, q)[:, :3, 3]
    column = dynamics.model.q_index(SWUNG).start
    return PathRun(path, t, poses[:, :3, 3], path.off(poses[:, :3, 3]), turned, elbow, q[:, column], told)


def _claims(rides: dict[str, PathRun], ideal: dict[str, PathRun], near: float, exact: float) -> list[Claim]:
    limits = "servos deflect under gravity; the pose control loop compensates most of it"
    found = []
    for name, where in (("line", "line"), ("circle", "circle"), ("hold", "position")):
        ride, alone = rides[name], ideal[name]
        found += [
            Claim(
                f"{name}: the simulated hand stays on its {where}", float(ride.off.max()), near, unit="m", note=limits
            ),
            Claim(f"{name}: orientation error", float(ride.turned.max()), TURNED, unit="rad"),
            Claim(f"{name}: path error of an ideal robot", float(alone.off.max()), exact, unit="m"),
        ]
    for name in ("circle", "hold"):
        found.append(Claim(f"{name}: the elbow moves", rides[name].elbow_travel, 0.2, ">=", "m", "farthest positions"))
    share = float(rides["hold"].off.max() / rides["hold"].elbow_travel)
    found.append(Claim("fixed hand: path error / elbow motion", share, 0.01))
    return found


def _table(rides: dict[str, PathRun], ideal: dict[str, PathRun]) -> Table:
    rows = [
        (
            name,
            f"{1e3 * ride.off.max():.3f}",
            f"{1e3 * ideal[name].off.max():.4f}",
            f"{np.rad2deg(ride.turned.max()):.3f}",
            f"{1e3 * ride.elbow_travel:.0f}",
            f"{np.abs(ride.commands).max():.2f}",
        )
        for name, ride in rides.items()
    ]
    errors = ("path error [mm]", "ideal robot [mm]", "orientation error [deg]")
    return Table("Hand and elbow", ("path", *errors, "elbow motion [mm]", "largest joint speed [rad/s]"), rows)


def _panels(rides: dict[str, PathRun]) -> list[Panel]:
    panels = []
    for name, ride in rides.items():
        off = {"path error": 1e3 * ride.off, "orientation error [0.1 deg]": 10.0 * np.rad2deg(ride.turned)}
        plane = (0, 1)
        panels += [
            Panel.of(
                f"{name}: top view",
                "y [m]",
                ride.hand[:, plane[0]],
                {"hand": ride.hand[:, plane[1]]},
                xlabel="x [m]",
                is_plane=True,
            ),
            Panel.of(f"{name}: hand", "[mm]", ride.t, off),
            vector(f"{name}: elbow", "[m]", ride.t, ride.elbow - ride.elbow[0]),
        ]
    return panels
