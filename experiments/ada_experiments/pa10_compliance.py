# SPDX-License-Identifier: Apache-2.0
"""Y4: compliance control of a hand on a wall with a simulated force sensor, and the stiffest stable wall.

Document: Yamada, sec. 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from ada_controllers import PoseReference, State, make
from ada_controllers.compliance import stiffest_contact
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact, ContactSphere, Ground, Material
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import inverse, wrench_matrix
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import JointServos, Log
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.pictures import picture
from ada_experiments.settings import OR_ZERO, read_settings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.run import build_model
from ada_tools.scenario.scenario import Scenario

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


class ArmAtWallSettings(NamedTuple):
    """Settings of the scenario."""

    pose: Annotated[tuple[float, ...], "rad"]
    stiffness: Annotated[float, "N/m"]  # translational, K_h
    gain: Annotated[float, "1/s"]  # P
    period: Annotated[float, "s"]
    servo_bandwidth: Annotated[float, "rad/s"]
    depths: Annotated[tuple[float, ...], "m"]  # of the target in the wall, in sequence
    wall_stiffness: Annotated[float, "N/m"]
    noise: Annotated[float, "N", OR_ZERO]
    offset: Annotated[float, "N", OR_ZERO]
    shares: Annotated[tuple[float, ...], "1"]  # of the limit stiffness


class ArmAtWall:
    """The arm in front of the wall.

    Attributes:
        model: the arm.
        chosen: settings.
        dynamics: of the arm.
        start: its initial configuration.
        surface: x coordinate of the wall [m].
    """

    def __init__(self, model: Model, chosen: ArmAtWallSettings) -> None:
        """Create the dynamics."""
        self.model, self.chosen = model, chosen
        self.dynamics, self.start = Dynamics(model), np.array(chosen.pose)
        self.surface = float(self.dynamics.pose(HAND, self.start)[0, 3]) + RADIUS + GAP


@experiment("compliance_on_wall")
def compliance_on_wall(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Press with several depths, be led away, and look for the stiffest wall on both sides of the limit."""
    use = ArmAtWall(build_model(scenario), read_settings(scenario, ArmAtWallSettings))
    chosen = use.chosen
    progress(0.0, "pressing against the wall")
    log, loop = _press(use, "displaced")
    progress(0.35, "the target goes along")
    led = _press(use, "moved")[0]
    progress(0.5, "the force dies out")
    relaxed = _press(use, "relaxed")[0]
    progress(0.7, "walls of different stiffness")
    limit = stiffest_contact(gain=chosen.gain, stiffness=chosen.stiffness, period=chosen.period, delay=1)
    swings = [_swing(use, share * limit) for share in chosen.shares]
    calm, swinging = (
        [s for share, s in zip(chosen.shares, swings, strict=True) if (share < 1.0) is is_calm]
        for is_calm in (True, False)
    )
    quantities = _forces(use, log, loop) | _led_quantities(use, led, relaxed)
    quantities |= {"swing_below": Quantity(max(calm)), "swing_above": Quantity(min(swinging))}
    panels = _panels(use, (log, led, relaxed))
    return Outcome([], [picture(panels, output / "y4_wall.png", "Hand on a wall", columns=2)], quantities=quantities)


# --- simulated --------------------------------------------------------------------------------------------------------
class _Sensor:
    """Six-axis sensor between arm and hand, with one period delay, offset and noise."""

    def __init__(self, use: ArmAtWall) -> None:
        self._dynamics, self._use = use.dynamics, use
        self._rng = np.random.default_rng(0)
        self._to_sensor = wrench_matrix(inverse(pose_of(*SENSOR)))
        self._waiting = self._measured(np.zeros(6))

    def _measured(self, wrench: Array) -> Array:
        noise = self._use.chosen.noise * self._rng.normal(size=6) * [1.0, 1.0, 1.0, 0.02, 0.02, 0.02]
        return np.asarray(wrench + noise + self._use.chosen.offset * np.array([1.0, -0.5, 0.7, 0.02, 0.03, -0.01]))

    def __call__(self, sim: Any) -> Array:
        at_ball = sim.contact_wrenches()["ball"][:3]  # world frame, at the contact
        pose = self._dynamics.pose(HAND, sim.q)
        arm = np.array([RADIUS, 0.0, 0.0])  # from the hand origin to the contact with the vertical wall
        at_hand = np.concatenate([pose[:3, :3].T @ at_ball, pose[:3, :3].T @ np.cross(arm, at_ball)])
        late, self._waiting = self._waiting, self._measured(self._to_sensor @ at_hand)
        return late


def _press(use: ArmAtWall, mode: str) -> tuple[Log, InSimulation]:
    """Press into the wall by each depth in sequence, then retract."""
    controller = make(
        "compliance",
        use.model,
        {
            "link": HAND,
            "gain": use.chosen.gain,
            "stiffness": [use.chosen.stiffness] * 3 + [TURNING] * 3,
            "mode": mode,
            "sensor_xyz": list(SENSOR[0]),
            "sensor_rpy": list(SENSOR[1]),
            "bias_at_reset": True,
            "dead_band": [0.0, 0.0] if mode == "displaced" else [DEAD_BAND, 0.2],
            "moving_time": MOVING_TIME,
            "filter_time": 0.01,
            "contact_stiffness": use.chosen.wall_stiffness,
            "period": use.chosen.period,
        },
    )
    contact = Contact(
        spheres=[ContactSphere("ball", HAND, (0.0, 0.0, 0.0), RADIUS)],
        ground=Ground(height=-use.surface, normal=(-1.0, 0.0, 0.0)),
        material=Material(stiffness=use.chosen.wall_stiffness, dissipation=1.0, friction=0.1),
    )
    depths = use.chosen.depths if mode == "displaced" else use.chosen.depths[-1:]
    references = [_target(use, depth) for depth in (-GAP, *depths, -2.0 * GAP)]

    def reference(t: float) -> PoseReference:
        phase = 0 if t < SETTLE else 1 + int((t - SETTLE) / PHASE)
        return references[min(phase, len(depths) + (1 if mode == "displaced" else 0))]

    loop = InSimulation(controller, reference, period=use.chosen.period, sensor=_Sensor(use))
    sim = loop.simulation(
        use.model, use.start, step=STEP, contact=contact, servos=JointServos(bandwidth=use.chosen.servo_bandwidth)
    )
    return sim.run(SETTLE + (len(depths) + 1) * PHASE), loop


def _target(use: ArmAtWall, depth: float) -> PoseReference:
    """Hand pose at which the ball penetrates the wall by `depth`."""
    pose = use.dynamics.pose(HAND, use.start).copy()
    pose[0, 3] = use.surface - RADIUS + depth
    return PoseReference(pose)


def _phase_end(log: Log, i: int) -> slice:
    """Rows of the last fifth of a phase."""
    end = SETTLE + (i + 1) * PHASE
    return slice(int(np.searchsorted(log.t, end - 0.2 * PHASE)), int(np.searchsorted(log.t, end - STEP)))


def _steady(use: ArmAtWall, log: Log, i: int) -> tuple[float, float]:
    """Mean wall force [N] and distance of the hand from its target [m] at the end of a phase."""
    rows = _phase_end(log, i)
    force = float(np.mean(_wall_force(log)[rows]))
    hand = float(np.mean(use.dynamics.pose(HAND, log.q[rows])[:, 0, 3]))
    return force, use.surface - RADIUS + use.chosen.depths[i] - hand


def _wall_force(log: Log) -> Array:
    return np.asarray(-log.contact_wrenches["ball"][:, 0], dtype=np.float64)


# --- ideal robot on walls of different stiffness -------------------------------------------------------------------
def _swing(use: ArmAtWall, wall: float) -> float:
    """Peak-to-peak force by its mean at the end, for a robot that follows its velocity command exactly."""
    values = {"link": HAND, "gain": use.chosen.gain, "stiffness": [use.chosen.stiffness] * 3 + [TURNING] * 3}
    controller = make("compliance", use.model, values)
    q, v, late = use.start.copy(), np.zeros(use.model.nv), 0.0
    x0 = float(use.dynamics.pose(HAND, q)[0, 3])
    target = use.dynamics.pose(HAND, q).copy()
    target[0, 3] += use.chosen.depths[-1]
    forces = []
    wanted = PoseReference(target)
    for i in range(400):
        pose = use.dynamics.pose(HAND, q)
        wrench = np.concatenate([pose[:3, :3].T @ [-late, 0.0, 0.0], np.zeros(3)])
        if i == 0:
            controller.reset(State(q, v, wrench), 0.0)
        command = controller.update(State(q, v, wrench), wanted, i * use.chosen.period)
        late = wall * max(float(pose[0, 3]) - x0, 0.0)
        forces.append(late)
        assert command.velocity is not None
        q = q + use.chosen.period * command.velocity
    last = np.array(forces[-60:])
    return float(np.ptp(last) / max(np.mean(last), 1e-9))


# --- results ---------------------------------------------------------------------------------------------------------
def _forces(use: ArmAtWall, log: Log, loop: InSimulation) -> dict[str, Quantity]:
    chosen, springs = use.chosen, []
    hand, wall = chosen.stiffness, chosen.wall_stiffness
    for i, depth in enumerate(chosen.depths):
        in_a_row = depth * hand * wall / (hand + wall)  # stiffness of hand and wall in series
        springs.append(abs(_steady(use, log, i)[0] / in_a_row - 1.0))
    felt = loop.signals["wrench"]
    seen = np.interp(loop.times, log.t, _wall_force(log))
    R = use.dynamics.pose(HAND, log.q[-1])[:3, :3]
    along = -(felt[:, :3] @ R.T)[:, 0]
    calm = loop.times > SETTLE + 0.8 * PHASE
    calm &= (loop.times - SETTLE) % PHASE > 0.8 * PHASE
    off = float(np.max(np.abs(along - seen)[calm]))
    out = float(np.max(_wall_force(log)[_phase_end(log, len(use.chosen.depths))]))
    return {
        "compliance_error": Quantity(_compliance_error(use, log)),
        "series_error": Quantity(max(springs)),
        "sensor_error": Quantity(off, "N"),
        "force_after": Quantity(out, "N"),
    }


def _compliance_error(use: ArmAtWall, log: Log) -> float:
    """Largest relative error of the steady force against K_h times the distance of the hand from its target."""
    steady = [_steady(use, log, i) for i in range(len(use.chosen.depths))]
    return max(abs(force / (use.chosen.stiffness * short) - 1.0) for force, short in steady)


def _led_quantities(use: ArmAtWall, led: Log, relaxed: Log) -> dict[str, Quantity]:
    hops, force = _wall_force(led), _wall_force(relaxed)
    rows = slice(round((SETTLE + 0.6) / STEP), round((SETTLE + 1.2) / STEP))
    rate = float(-np.polyfit(relaxed.t[rows], np.log(np.maximum(force[rows] - DEAD_BAND, 1e-9)), 1)[0])
    wanted = 1.0 / (MOVING_TIME * (1.0 + use.chosen.stiffness / use.chosen.wall_stiffness))
    touched = int(np.argmax(force > 0.0))
    return {
        "moving_target_force": Quantity(float(hops[-1]), "N"),
        "least_combined_force": Quantity(float(force[touched + 20 :].min()), "N"),
        "impact_ratio": Quantity(float(force.max() / hops.max())),
        "decay_error": Quantity(abs(rate / wanted - 1.0)),
    }


def _panels(use: ArmAtWall, logs: Sequence[Log]) -> list[Panel]:
    panels = []
    for name, log in zip(("fixed target", "moving target", "both"), logs, strict=True):
        hand = use.dynamics.pose(HAND, log.q)[:, 0, 3] - use.surface + RADIUS
        panels += [
            Panel.of(f"{name}: force", "[N]", log.t, {"wall": _wall_force(log)}),
            Panel.of(f"{name}: hand", "[mm]", log.t, {"in the wall": 1e3 * hand}),
        ]
    return panels
