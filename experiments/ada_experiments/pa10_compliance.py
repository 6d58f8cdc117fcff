# SPDX-License-Identifier: Apache-2.0
"""Y4: compliance control of a hand on a wall with a simulated force sensor, and the stiffest stable wall.

Document: Yamada, sec. 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ada_controllers import PoseReference, State, make
from ada_controllers.compliance import stiffest_contact
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact, ContactSphere, Ground, Material
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import inverse, wrench_matrix
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import JointServos, Log
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.pictures import picture
from ada_tools.scenario.fields import Part
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.run import build_model
from ada_tools.scenario.scenario import Scenario, settings_of

_KNOWN = (
    "pose", "stiffness", "gain", "period", "servo_bandwidth", "depths", "wall_stiffness", "noise", "offset", "shares",
)  # fmt: skip
HAND = "flange"
RADIUS = 0.03  # [m] of the ball at the hand
GAP = 0.01  # [m] from the wall at the start
PHASE = 1.5  # [s] duration of each depth
SETTLE = 1.0  # [s] for the servos to settle under gravity
STEP = 1e-3  # [s] of the simulation
SENSOR = (0.01, -0.02, -0.05), (0.0, 0.0, 0.7)  # position [m] and rpy angles [rad] of the sensor in the hand frame
MOVING_TIME = 0.5  # [s] time constant of a moving target
DEAD_BAND = 1.0  # [N] with a moving target
TURNING = 50.0  # [N m/rad] rotational stiffness


class Setup(NamedTuple):
    """Settings of the scenario."""

    model: Model
    dynamics: Dynamics
    start: Array
    stiffness: float  # translational stiffness K_h [N/m]
    gain: float  # P [1/s]
    period: float  # [s]
    bandwidth: float  # [rad/s]
    depths: tuple[float, ...]  # penetration depths of the target, in sequence [m]
    wall: float  # [N/m]
    noise: float  # [N]
    offset: float  # [N]
    shares: tuple[float, ...]  # of the limit stiffness

    @property
    def surface(self) -> float:
        """x coordinate of the wall."""
        return float(self.dynamics.pose(HAND, self.start)[0, 3]) + RADIUS + GAP


@experiment("compliance_on_wall")
def compliance_on_wall(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Press with several depths, be led away, and look for the stiffest wall on both sides of the limit."""
    use = _setup(scenario)
    progress(0.0, "pressing against the wall")
    log, loop = _press(use, "displaced")
    progress(0.35, "the target goes along")
    led = _press(use, "moved")[0]
    progress(0.5, "the force dies out")
    relaxed = _press(use, "relaxed")[0]
    progress(0.7, "walls of different stiffness")
    limit = stiffest_contact(gain=use.gain, stiffness=use.stiffness, period=use.period, delay=1)
    swings = [_swing(use, share * limit) for share in use.shares]
    outcome = Outcome(quantities=_forces(use, log, loop) | _led_quantities(use, led, relaxed))
    sides = [
        [s for share, s in zip(use.shares, swings, strict=True) if (share < 1.0) is calm] for calm in (True, False)
    ]
    outcome.quantities |= {"swing_below": Quantity(max(sides[0])), "swing_above": Quantity(min(sides[1]))}
    outcome.tables.append(_force_table(use, log, loop))
    rows = [(f"{share:g}", f"{share * limit:.4g}", f"{s:.3g}") for share, s in zip(use.shares, swings, strict=True)]
    outcome.tables.append(
        Table(
            "Walls with an ideal robot and a force delayed by one period",
            ("stiffness / limit", "stiffness [N/m]", "peak-to-peak force / mean force"),
            rows,
            f"Limit: K / (P T) = {limit:.4g} N/m",
        )
    )
    outcome.figures.append(
        picture(_panels(use, (log, led, relaxed), swings), output / "y4_wall.png", "Hand on a wall", columns=2)
    )
    return outcome


def _setup(scenario: Scenario) -> Setup:
    use = settings_of(scenario, _KNOWN)
    model = build_model(scenario)
    return Setup(
        model,
        Dynamics(model),
        np.array(use.vector("pose", ("rad",) * model.nq)),
        use.positive("stiffness", "N/m"),
        use.positive("gain", "1"),
        use.positive("period", "s"),
        use.positive("servo_bandwidth", "1"),
        _list(use, "depths", "m"),
        use.positive("wall_stiffness", "N/m"),
        use.quantity("noise", "N"),
        use.quantity("offset", "N"),
        _list(use, "shares", "1"),
    )


def _list(use: Part, key: str, unit: str) -> tuple[float, ...]:
    node: Any = use.node(key)
    return use.vector(key, (unit,) * len(getattr(node, "items", ())))


# --- simulated --------------------------------------------------------------------------------------------------------
class _Sensor:
    """Six-axis sensor between arm and hand, with one period delay, offset and noise."""

    def __init__(self, use: Setup) -> None:
        self._dynamics, self._use = use.dynamics, use
        self._rng = np.random.default_rng(0)
        self._to_sensor = wrench_matrix(inverse(pose_of(*SENSOR)))
        self._waiting = self._measured(np.zeros(6))

    def _measured(self, wrench: Array) -> Array:
        noise = self._use.noise * self._rng.normal(size=6) * [1.0, 1.0, 1.0, 0.02, 0.02, 0.02]
        return np.asarray(wrench + noise + self._use.offset * np.array([1.0, -0.5, 0.7, 0.02, 0.03, -0.01]))

    def __call__(self, sim: Any) -> Array:
        at_ball = sim.contact_wrenches()["ball"][:3]  # world frame, at the contact
        pose = self._dynamics.pose(HAND, sim.q)
        arm = np.array([RADIUS, 0.0, 0.0])  # from the hand origin to the contact with the vertical wall
        at_hand = np.concatenate([pose[:3, :3].T @ at_ball, pose[:3, :3].T @ np.cross(arm, at_ball)])
        late, self._waiting = self._waiting, self._measured(self._to_sensor @ at_hand)
        return late


def _press(use: Setup, mode: str) -> tuple[Log, InSimulation]:
    """Press into the wall by each depth in sequence, then retract."""
    controller = make(
        "compliance",
        use.model,
        {
            "link": HAND,
            "gain": use.gain,
            "stiffness": [use.stiffness] * 3 + [TURNING] * 3,
            "mode": mode,
            "sensor_xyz": list(SENSOR[0]),
            "sensor_rpy": list(SENSOR[1]),
            "bias_at_reset": True,
            "dead_band": [0.0, 0.0] if mode == "displaced" else [DEAD_BAND, 0.2],
            "moving_time": MOVING_TIME,
            "filter_time": 0.01,
            "contact_stiffness": use.wall,
            "period": use.period,
        },
    )
    contact = Contact(
        spheres=[ContactSphere("ball", HAND, (0.0, 0.0, 0.0), RADIUS)],
        ground=Ground(height=-use.surface, normal=(-1.0, 0.0, 0.0)),
        material=Material(stiffness=use.wall, dissipation=1.0, friction=0.1),
    )
    depths = use.depths if mode == "displaced" else use.depths[-1:]
    references = [_target(use, depth) for depth in (-GAP, *depths, -2.0 * GAP)]

    def reference(t: float) -> PoseReference:
        phase = 0 if t < SETTLE else 1 + int((t - SETTLE) / PHASE)
        return references[min(phase, len(depths) + (1 if mode == "displaced" else 0))]

    loop = InSimulation(controller, reference, period=use.period, sensor=_Sensor(use))
    sim = loop.simulation(use.model, use.start, step=STEP, contact=contact, servos=JointServos(bandwidth=use.bandwidth))
    return sim.run(SETTLE + (len(depths) + 1) * PHASE), loop


def _target(use: Setup, depth: float) -> PoseReference:
    """Hand pose at which the ball penetrates the wall by `depth`."""
    pose = use.dynamics.pose(HAND, use.start).copy()
    pose[0, 3] = use.surface - RADIUS + depth
    return PoseReference(pose)


def _phase_end(log: Log, i: int) -> slice:
    """Rows of the last fifth of a phase."""
    end = SETTLE + (i + 1) * PHASE
    return slice(int(np.searchsorted(log.t, end - 0.2 * PHASE)), int(np.searchsorted(log.t, end - STEP)))


def _steady(use: Setup, log: Log, i: int) -> tuple[float, float]:
    """Mean wall force [N] and distance of the hand from its target [m] at the end of a phase."""
    rows = _phase_end(log, i)
    force = float(np.mean(_wall_force(log)[rows]))
    hand = float(np.mean(use.dynamics.pose(HAND, log.q[rows])[:, 0, 3]))
    return force, use.surface - RADIUS + use.depths[i] - hand


def _wall_force(log: Log) -> Array:
    return np.asarray(-log.contact_wrenches["ball"][:, 0], dtype=np.float64)


# --- ideal robot on walls of different stiffness -------------------------------------------------------------------
def _swing(use: Setup, wall: float) -> float:
    """Peak-to-peak force by its mean at the end, for a robot that follows its velocity command exactly."""
    values = {"link": HAND, "gain": use.gain, "stiffness": [use.stiffness] * 3 + [TURNING] * 3}
    controller = make("compliance", use.model, values)
    q, v, late = use.start.copy(), np.zeros(use.model.nv), 0.0
    x0 = float(use.dynamics.pose(HAND, q)[0, 3])
    target = use.dynamics.pose(HAND, q).copy()
    target[0, 3] += use.depths[-1]
    forces = []
    wanted = PoseReference(target)
    for i in range(400):
        pose = use.dynamics.pose(HAND, q)
        wrench = np.concatenate([pose[:3, :3].T @ [-late, 0.0, 0.0], np.zeros(3)])
        if i == 0:
            controller.reset(State(q, v, wrench), 0.0)
        command = controller.update(State(q, v, wrench), wanted, i * use.period)
        late = wall * max(float(pose[0, 3]) - x0, 0.0)
        forces.append(late)
        assert command.velocity is not None
        q = q + use.period * command.velocity
    last = np.array(forces[-60:])
    return float(np.ptp(last) / max(np.mean(last), 1e-9))


# --- results ---------------------------------------------------------------------------------------------------------
def _forces(use: Setup, log: Log, loop: InSimulation) -> dict[str, Quantity]:
    springs = []
    for i in range(len(use.depths)):
        force, _ = _steady(use, log, i)
        # stiffness of hand and wall in series
        in_a_row = use.depths[i] * use.stiffness * use.wall / (use.stiffness + use.wall)
        springs.append(abs(force / in_a_row - 1.0))
    felt = loop.signals["wrench"]
    seen = np.interp(loop.times, log.t, _wall_force(log))
    R = use.dynamics.pose(HAND, log.q[-1])[:3, :3]
    along = -(felt[:, :3] @ R.T)[:, 0]
    calm = loop.times > SETTLE + 0.8 * PHASE
    calm &= (loop.times - SETTLE) % PHASE > 0.8 * PHASE
    off = float(np.max(np.abs(along - seen)[calm]))
    out = float(np.max(_wall_force(log)[_phase_end(log, len(use.depths))]))
    return {
        "compliance_error": Quantity(_compliance_error(use, log)),
        "series_error": Quantity(max(springs)),
        "sensor_error": Quantity(off, "N"),
        "force_after": Quantity(out, "N"),
    }


def _compliance_error(use: Setup, log: Log) -> float:
    """Largest relative error of the steady force against K_h times the distance of the hand from its target."""
    steady = [_steady(use, log, i) for i in range(len(use.depths))]
    return max(abs(force / (use.stiffness * short) - 1.0) for force, short in steady)


def _led_quantities(use: Setup, led: Log, relaxed: Log) -> dict[str, Quantity]:
    hops, force = _wall_force(led), _wall_force(relaxed)
    rows = slice(round((SETTLE + 0.6) / STEP), round((SETTLE + 1.2) / STEP))
    rate = float(-np.polyfit(relaxed.t[rows], np.log(np.maximum(force[rows] - DEAD_BAND, 1e-9)), 1)[0])
    wanted = 1.0 / (MOVING_TIME * (1.0 + use.stiffness / use.wall))
    touched = int(np.argmax(force > 0.0))
    return {
        "moving_target_force": Quantity(float(hops[-1]), "N"),
        "least_combined_force": Quantity(float(force[touched + 20 :].min()), "N"),
        "impact_ratio": Quantity(float(force.max() / hops.max())),
        "decay_error": Quantity(abs(rate / wanted - 1.0)),
    }


def _force_table(use: Setup, log: Log, loop: InSimulation) -> Table:
    rows = []
    for i, depth in enumerate(use.depths):
        force, short = _steady(use, log, i)
        rows.append((f"{1e3 * depth:g}", f"{force:.3f}", f"{1e3 * short:.3f}", f"{use.stiffness * short:.3f}"))
    return Table("Steady force", ("depth [mm]", "force [N]", "position error [mm]", "K_h · error [N]"), rows)


def _panels(use: Setup, logs: Sequence[Log], swings: Sequence[float]) -> list[Panel]:
    panels = []
    for name, log in zip(("fixed target", "moving target", "both"), logs, strict=True):
        hand = use.dynamics.pose(HAND, log.q)[:, 0, 3] - use.surface + RADIUS
        panels += [
            Panel.of(f"{name}: force", "[N]", log.t, {"wall": _wall_force(log)}),
            Panel.of(f"{name}: hand", "[mm]", log.t, {"in the wall": 1e3 * hand}),
        ]
    panels.append(
        Panel(
            "Variation of the force",
            "peak-to-peak / mean",
            [Series("", np.array(use.shares), np.maximum(np.array(swings), 1e-12), "o")],
            xlabel="stiffness / limit K / (P T)",
            marks=(1.0,),
            is_logarithmic=True,
        )
    )
    return panels
