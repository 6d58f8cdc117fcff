# SPDX-License-Identifier: Apache-2.0
"""Motion of a robot under its own weight, for `ada sim`: Runge-Kutta steps of fourth order on the front door.

Loops are closed anew after each step, in the metric of the mass matrix, which keeps the energy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, SingularPoseWarning
from ada_dynamics.model.model import Model
from ada_dynamics.view.skeleton import Line, skeleton

Array = NDArray[np.float64]
SNAPSHOTS = 9

_NO_SWING = 1e-9  # of the energy: less is rounding


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States at equal steps."""

    model: Model
    dynamics: Dynamics
    step: float
    t: Array
    q: Array
    v: Array
    energy: Array  # kinetic, potential [J]
    singular: list[float] = field(default_factory=list)  # times of the steps that met a singular pose [s]

    def energy_drift(self) -> float:
        """Largest change of the total energy, as a share of the largest change of the potential one."""
        total = self.energy.sum(axis=1)
        swing = float(np.ptp(self.energy[:, 1]))
        floor = _NO_SWING * float(np.max(np.abs(self.energy), initial=0.0))
        return float(np.max(np.abs(total - total[0]))) / (max(swing, floor) or 1.0)

    def gap(self, i: int) -> float:
        """Largest gap of the loops, at state i [m, rad]."""
        return self.dynamics.loop_state(self.q[i]).worst_gap

    def skeleton(self, i: int) -> list[Line]:
        """Lines from each joint to the next ones, at state i."""
        return skeleton(self.dynamics, self.q[i])

    def reach(self) -> float:
        """Half the side of a square that holds the robot."""
        ends = np.array([end for line in self.skeleton(0) for end in line])
        return float(np.max(np.linalg.norm(ends, axis=1), initial=0.1)) * 1.1

    def plot(self, path: Path) -> None:
        """Snapshots of the motion from the side, joint positions and energies."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise InputError("plots need matplotlib: pip install 'ada_dynamics[tools]'") from None
        figure = Figure(figsize=(11.0, 5.0), layout="constrained")
        panels: Any = figure.subplot_mosaic([["motion", "positions"], ["motion", "energies"]], width_ratios=[1, 1.2])
        self._plot_snapshots(panels["motion"])
        self._plot_positions(panels["positions"])
        self._plot_energies(panels["energies"])
        figure.suptitle(f"{self.model.name}: motion under its own weight")
        try:
            figure.savefig(path, dpi=110)
        except (OSError, ValueError) as problem:
            raise InputError(f"the plot cannot be written to {path}: {problem}") from None

    def _plot_snapshots(self, axes: Any) -> None:
        chosen = np.linspace(0, len(self.t) - 1, SNAPSHOTS).astype(int)
        for i in chosen:
            shade = 0.15 + 0.85 * i / (len(self.t) - 1)
            for start, end in self.skeleton(i):
                axes.plot((start[0], end[0]), (start[2], end[2]), "o-", color="C0", alpha=shade, markersize=3, lw=2)
        axes.set_aspect("equal")
        axes.set_xlabel("x [m]")
        axes.set_ylabel("z [m]")
        axes.set_title(f"{SNAPSHOTS} snapshots, the last one darkest")

    def _plot_positions(self, axes: Any) -> None:
        for name in self.model.joint_names:
            if self.model.joints[name].nq == 1:
                axes.plot(self.t, self.q[:, self.model.q_index(name).start], label=name)
        axes.set_ylabel("position [rad, m]")
        axes.legend(ncols=4, fontsize="small")

    def _plot_energies(self, axes: Any) -> None:
        curves = (*self.energy.T, self.energy.sum(axis=1))
        for values, label in zip(curves, ("kinetic", "potential", "total"), strict=True):
            axes.plot(self.t, values, label=label)
        axes.set_ylabel("energy [J]")
        axes.set_xlabel("time [s]")
        axes.legend(fontsize="small")


def move_freely(model: Model, q: Array, duration: float, step: float) -> Trajectory:
    """Integrate from rest with no effort in the joints.

    Args:
        model: the robot.
        q: where it starts; its loops must be closed there.
        duration: [s].
        step: [s].

    Raises:
        InputError: the loops leave nothing to move, or leave open which motion begins.
    """
    dynamics = Dynamics(model, pose=q) if model.loops else Dynamics(model)
    _refuse_undetermined(dynamics, q)
    steps = max(1, round(duration / step))
    qs, vs = np.empty((steps + 1, model.nq)), np.empty((steps + 1, model.nv))
    qs[0], vs[0] = q, 0.0
    rest = np.zeros(model.nv)
    singular = []
    for i in range(steps):
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always", SingularPoseWarning)
            qs[i + 1], vs[i + 1] = _step(model, dynamics, qs[i], vs[i], rest, step)
        if met:
            singular.append(i * step)
        if model.loops:
            qs[i + 1], vs[i + 1] = dynamics.project(qs[i + 1], vs[i + 1])
    energy = np.column_stack(dynamics.energy(qs, vs))
    t = np.arange(steps + 1, dtype=np.float64) * step
    return Trajectory(model, dynamics, step, t, qs, vs, energy, singular)


def _refuse_undetermined(dynamics: Dynamics, q: Array) -> None:
    model = dynamics.model
    if not model.loops:
        return
    state = dynamics.loop_state(q)
    if state.mobility == 0:
        raise InputError(f"model {model.name!r}: its loops leave nothing to move (see: ada check); remove one of them.")
    if state.is_singular:
        ways = dynamics.tangents(q)
        shown = "; ".join(np.array2string(way, precision=4, separator=", ", suppress_small=True) for way in ways)
        raise InputError(
            f"model {model.name!r} would start at rest in a singular pose, where its motion is not determined"
            + (f": it could go along {shown}" if ways else "")
            + ". Start it beside that pose: --start Q ..."
        )


def _step(model: Model, dynamics: Dynamics, q: Array, v: Array, tau: Array, h: float) -> tuple[Array, Array]:
    """One step of the classical fourth-order rule, positions moved along the configuration manifold."""
    a1 = dynamics.forward(q, v, tau)
    v2 = v + 0.5 * h * a1
    a2 = dynamics.forward(model.integrate(q, v, 0.5 * h), v2, tau)
    v3 = v + 0.5 * h * a2
    a3 = dynamics.forward(model.integrate(q, v2, 0.5 * h), v3, tau)
    v4 = v + h * a3
    a4 = dynamics.forward(model.integrate(q, v3, h), v4, tau)
    mean = (v + 2.0 * v2 + 2.0 * v3 + v4) / 6.0
    return model.integrate(q, mean, h), v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
