# SPDX-License-Identifier: Apache-2.0
"""The free rod with z-y-x Euler angles instead of a quaternion, and their singularity (Takahashi 2012, sec. 3.4.1).

If the second angle is ±90 deg, the axes of the other two coincide (eq. 3.30). Near it their rates grow with the inverse
of its cosine; at it the rates are undefined and the configuration is rejected.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import Simulation
from ada_experiments.joint_tables import rotation_errors
from ada_tools.scenario.registry import Claim, Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.run import simulate
from ada_tools.scenario.scenario import Scenario, settings_of

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log


# Rotations about y, which lead to the singularity, with decreasing rotation about x [rad/s].
APPROACHES = ((0.02, 0.48, 0.0), (0.002, 0.48, 0.0))
HALF_LENGTH = 0.5  # [m] from the joint to the centre of mass


class _Pair(NamedTuple):
    """The same motion in both kinds of coordinates."""

    quaternion: Log
    angles: Log

    @property
    def apart(self) -> float:
        """Largest difference of the poses: rotation matrix and position [m]."""
        poses = [Dynamics(log.model).pose(log.model.root, log.q) for log in self]
        return float(np.max(np.abs(poses[0] - poses[1])))

    @property
    def cosine(self) -> Array:
        """Cosine of the second angle over time."""
        return np.asarray(np.cos(self.angles.q[:, 4]), dtype=np.float64)

    @property
    def growth(self) -> float:
        """Largest Euler rate relative to the largest angular velocity."""
        return float(np.max(np.abs(self.angles.v[:, 3:])) / np.max(np.abs(self.quaternion.v[:, 3:])))


@experiment("euler_angles")
def euler_angles(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate the motion of the document and two closer to the singularity, with both kinds of coordinates."""
    robot = settings_of(scenario, ("robot",)).text("robot")
    own = _pair(scenario, robot, None)
    near = []
    for i, turn in enumerate(APPROACHES):
        progress((1 + i) / (1 + len(APPROACHES)), "Euler angles near their singularity")
        near.append(_pair(scenario, robot, turn))
    model, nearest = own.angles.model, near[-1]
    pairs = [
        ("document", own),
        *((f"ω = {turn} rad/s", pair) for turn, pair in zip(APPROACHES, near, strict=True)),
    ]
    outcome = Outcome(
        [
            Claim("Euler angles and quaternion: difference", own.apart, 1e-9, unit="m", note="poses of the rod"),
            Claim("relative change of the kinetic energy with Euler angles", _energy_change(own.angles), 1e-8),
            Claim(
                "near the singularity: Euler rate / angular velocity",
                own.growth,
                10.0,
                ">=",
                note=f"smallest |cos θ2| of the motion of the document: {np.min(np.abs(own.cosine)):.3f}",
            ),
            Claim(
                "closer to it: energy error with Euler angles / with a quaternion",
                _energy_change(nearest.angles) / max(_energy_change(nearest.quaternion), 1e-15),
                1e3,
                ">=",
                note=f"smallest |cos θ2|: {np.min(np.abs(nearest.cosine)):.4f}",
            ),
            Claim("singular pose: refused with an error", _refusals(model), 1.0, "=="),
        ],
        tables=[_table(pairs)],
        quantities=rotation_errors() | _of_tensor(),
    )
    outcome.figures.append(_figure(own, output / "euler_angles.png"))
    outcome.captions["euler_angles.png"] = "A motion with z-y-x Euler angles, and errors near their singularity"
    return outcome


def _pair(scenario: Scenario, robot: str, turn: tuple[float, float, float] | None) -> _Pair:
    """A motion in both coordinates: that of the scenario, or one with the given rotation and resting centre of mass."""
    base = "start.velocity.root_joint"
    if turn is None:
        log = simulate(scenario)
        linear, angular = log.v[0, :3].tolist(), log.v[0, 3:].tolist()
    else:
        angular = list(turn)
        linear = [-HALF_LENGTH * turn[1], HALF_LENGTH * turn[0], 0.0]
        log = simulate(scenario.with_changes({base: [*linear, *angular]}))
    # In the upright initial pose the Euler rates are the angular velocity about z, y and x.
    changes = {"model.robot": robot, base: [*linear, *angular[::-1]]}
    return _Pair(log, simulate(scenario.with_changes(changes)))


def _of_tensor() -> dict[str, Quantity]:
    """Rank of the printed tensor, and change of the angular velocity in 10 s with I_zz = ml²/12, both for m = l = 1."""
    across = 1.0 / 12.0
    model = Builder("isotropic").link("rod", 1.0, (0.0, 0.0, 0.5), 3 * (across,)).build("floating", (0.0, 0.0, 0.0))
    start = [-0.24, 0.36, 0.0, 0.72, 0.48, 0.24]
    rates = Simulation(model, model.neutral(), np.array(start), step=1e-3).run(10.0).v[:, 3:]
    return {
        "isotropic_change": Quantity(float(np.max(np.abs(rates - rates[0])) / np.linalg.norm(rates[0]))),
        "tensor_rank": Quantity(float(np.linalg.matrix_rank(np.diag([across, across, 0.0])))),
    }


def _energy_change(log: Log) -> float:
    total = np.asarray(log.total_energy)
    return float(np.max(np.abs(total / total[0] - 1.0)))


def _refusals(model: Model) -> float:
    """Return 1 if dynamics at the singular configuration raise an error with the reason."""
    q, rest = model.neutral(), np.zeros(model.nv)
    q[4] = np.pi / 2.0
    try:
        Dynamics(model).forward(q, rest, rest)
    except InputError as refusal:
        return float("singular" in str(refusal) and model.joint_names[0] in str(refusal))
    return 0.0


def _table(pairs: list[tuple[str, _Pair]]) -> Table:
    columns = ["motion", "least |cos θ2|", "largest rate / ω", "poses apart [m]", "energy, Euler", "energy, quaternion"]
    rows = [
        [
            name,
            float(np.min(np.abs(pair.cosine))),
            pair.growth,
            pair.apart,
            _energy_change(pair.angles),
            _energy_change(pair.quaternion),
        ]
        for name, pair in pairs
    ]
    return Table("Euler angles beside a quaternion", columns, rows, "Energy: largest relative change.")


def _figure(pair: _Pair, path: Path) -> Path:
    from ada_dynamics.drawing.panels import Panel
    from ada_dynamics.drawing.plots import figure_of

    angles, quaternion, names = pair.angles, pair.quaternion, ("z", "y'", "x''")
    changes = {
        name: np.abs(np.asarray(log.total_energy) / log.total_energy[0] - 1.0)
        for name, log in (("Euler angles", angles), ("quaternion", quaternion))
    }
    figure_of(
        [
            Panel.of("Euler angle", "[deg]", angles.t, dict(zip(names, np.degrees(angles.q[:, 3:]).T, strict=True))),
            Panel.of("Cosine of the second angle", "[-]", angles.t, {"cos θ2": pair.cosine}),
            Panel.of("Rate of Euler angle", "[rad/s]", angles.t, dict(zip(names, angles.v[:, 3:].T, strict=True))),
            Panel.of("Relative change of energy", "[-]", angles.t, changes, is_logarithmic=True),
        ],
        path,
        2,
    )
    return path
