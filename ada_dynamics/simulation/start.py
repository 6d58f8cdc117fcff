# SPDX-License-Identifier: Apache-2.0
"""Where a simulation starts: the dynamics, and a state that its loops allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import close_loops
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.dynamics.kernels import tree_fingerprint
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.system import frictionless

AT_REST = 1e-9  # [m/s, rad/s]
OPEN = 1e-6  # gap [m, rad] or velocity across loops [m/s, rad/s] that is no rounding of a closed start
# Times that gap by the fastest velocity: how far the velocities of linkages next to a dead point (conditions down to a
# hundredth of the strongest) are turned by it.
TURNED_BY_GAP = 100.0
BEYOND_ROUNDING = 3.0  # times the gap that rounded numbers in a file leave in the nearest pose: that much is no mistake


def checked_dynamics(dynamics: Dynamics, model: Model) -> Dynamics:
    """Dynamics that were given, of the model without its joint friction; the simulation brings that along."""
    given, own = dynamics.model, frictionless(model)
    if given.joint_names != own.joint_names or tree_fingerprint(given.tree) != tree_fingerprint(own.tree):
        raise InputError(
            f"dynamics is of another model than {model.name!r}: other joints, masses, gravity or loops, or with "
            "friction in its joints, which the simulation brings along. Leave it out and give algorithm= instead."
        )
    return dynamics


def start_state(model: Model, q: ArrayLike | None, v: ArrayLike | None) -> tuple[Array, Array]:
    """Positions and velocities to start with, as they were given.

    Raises:
        InputError: a vector has the wrong length or is not finite, or a quaternion is no rotation.
    """
    q0 = np.array(close_loops(model)) if q is None else _finite("q", model.as_positions(q))
    v0 = np.zeros(model.nv) if v is None else _finite("v", model.as_velocities(v))
    problems = model.position_problems(q0)
    if problems:
        raise InputError(f"q cannot be a start of model {model.name!r}: {'; '.join(problems)}.")
    return q0, v0


def _finite(name: str, x: Array) -> Array:
    if not np.isfinite(x).all():
        raise InputError(f"{name}[{int(np.argmin(np.isfinite(x)))}] is not finite: {x}.")
    return x.copy()


def on_loops(model: Model, dynamics: Dynamics, q: Array, v: Array) -> tuple[Array, Array]:
    """The state with rounding taken off its loops.

    Raises:
        InputError: it is off by more than rounding.
    """
    closed = kernels_of(dynamics).closed
    if closed is None:
        return q, v
    nearest, allowed = dynamics.project_to_constraints(q, v)
    gap, left = (float(np.max(np.abs(closed.gap(at)), initial=0.0)) for at in (q, nearest))
    if gap > max(OPEN, BEYOND_ROUNDING * left):
        state = dynamics.constraints.state(q)
        gaps = {name: float(np.max(np.abs(g))) for name, g in state.violation.items()}
        shown = ", ".join(f"{name!r} by {gap:.3g}" for name, gap in gaps.items() if gap > 0.1 * OPEN)
        raise InputError(
            f"the start leaves loops of model {model.name!r} open: {shown} [m, rad]. Close them: "
            "q = ada.close_loops(model, q)."
        )
    change = float(np.max(np.abs(allowed - v), initial=0.0))
    if change > max(OPEN, TURNED_BY_GAP * left * float(np.max(np.abs(v), initial=0.0))):
        raise InputError(
            f"the velocities given tear the loops of model {model.name!r} apart (they change by {change:.3g} to keep "
            "them closed). Take those that do not: q, v = Dynamics(model, q0=q).project_to_constraints(q, v)."
        )
    return nearest, allowed


def refuse_undetermined(model: Model, dynamics: Dynamics, q: Array, v: Array) -> None:
    """Refuse to go on where nothing can move, or where it is not determined which way."""
    closed = kernels_of(dynamics).closed
    if closed is None:
        return
    if closed.analysis.mobility == 0:
        raise InputError(f"model {model.name!r}: its loops leave nothing to move (see: ada check); remove one of them.")
    if np.any(np.abs(v) > AT_REST):
        return
    if dynamics.constraints.state(q).is_singular:
        ways = dynamics.constraints.branch_directions(q)
        shown = "; ".join(np.array2string(way, precision=4, separator=", ", suppress_small=True) for way in ways)
        raise InputError(
            f"model {model.name!r} is at rest in a singular pose, where its motion is not determined"
            + (f": it could go along {shown}" if ways else "")
            + ". Start it beside that pose, or with a velocity."
        )
