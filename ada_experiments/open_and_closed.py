# SPDX-License-Identifier: Apache-2.0
"""The last step of assembly, open 3R beside closed 4R (Takahashi 2012, sec. 3.2, eqs. 3.21-3.28).

Both chains are the same three rods, joined at joints 2 and 3 to one articulated body Y (figs. 3.13 and 3.14, a to c).
It is held by joint 1 alone, or by joints 1 and 4 at once. Y's operators are taken from their definition (eq. 2.4): how
the handles of three rods afloat accelerate with the wrenches on them. So nothing here is what assembles them elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_dynamics.algorithms.assembly_order import assembly_order
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_tools.scenario.registry import Claim, Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario

OPEN, CLOSED = "planar_3r", "closed_4r"
ANGLES = np.radians((135.0, -45.0, 225.0))  # of figs. 3.1 and 3.9
RATES = np.array((0.7, -1.1, 0.4))  # of the open chain [rad/s]; the closed one has what its loop leaves of them
ACROSS = 1.0 / 12.0  # of a rod [kg m²]
HANDLES = ("rod_1", "tip")  # at joints 1 and 4

# Eq. 3.24, of a joint about y: [angular; linear] as in the document.
ACTIVE = np.eye(6)[:, 1:2]
CONSTRAINT = np.delete(np.eye(6), 1, axis=1)


class Body(NamedTuple):
    """Y: how its handles accelerate, V̇ = Φ F + B (eqs. 2.4, 3.21, 3.25)."""

    phi: Array  # (12, 12)
    bias: Array  # (12,)


class Held(NamedTuple):
    """Y and what holds it.

    Attributes:
        accelerations: of the joints that hold it, as T_aᵀ V̇ has them [rad/s²].
        slips: how fast its handles accelerate across them, which is nothing where they hold.
        rank: of the matrix that is inverted.
        size: of it.
    """

    accelerations: Array
    slips: float
    rank: int
    size: int


@experiment("open_and_closed")
def open_and_closed(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Hold the assembled rods by one joint and by two, and compare with the mechanisms' equations as a whole."""
    models = {name: load(name) for name in (OPEN, CLOSED)}
    rows: list[Sequence[object]] = []
    claims: list[Claim] = []
    quantities: dict[str, Quantity] = {}
    for i, (name, count) in enumerate(((OPEN, 1), (CLOSED, 2))):
        progress(0.5 * i, f"the last step of {name}")
        wanted, rates = _reference(models[name])
        body = assembled(ANGLES, rates)
        mended, printed = held(body, count, -1.0), held(body, count, 1.0)
        key = "open" if name == OPEN else "closed"
        error = float(abs(mended.accelerations[0] - wanted[0]))
        text = f"{name}: with F = -T ... Tᵀ B joint 1 accelerates as in the whole mechanism"
        claims.append(Claim(text, error, 1e-9, unit="rad/s²"))
        quantities |= {
            f"{key}_slip": Quantity(mended.slips, "m/s², rad/s²"),
            f"{key}_error": Quantity(float(abs(printed.accelerations[0] - wanted[0])), "rad/s²"),
            f"{key}_missing_rank": Quantity(mended.size - mended.rank),
            f"{key}_joints_at_once": Quantity(_joints_at_once(models[name])),
        }
        rows.append((name, mended.size, mended.rank, wanted[0], mended.accelerations[0], printed.accelerations[0]))
        if count == 2:
            # Joint 4 is counted from the ground: rod 3 turns as the three others together.
            quantities["joint_4_error"] = Quantity(float(abs(np.sum(wanted) - mended.accelerations[1])), "rad/s²")
    quantities["rod_rank"] = Quantity(int(np.linalg.matrix_rank(np.diag((ACROSS, ACROSS, 0.0, 1.0, 1.0, 1.0)))))
    columns = ("chain", "size of TᵀΦT", "its rank", "θ̈1 of the mechanism", "with -T ... TᵀB", "as printed")
    note = "Accelerations in rad/s²; both fall from the start of figs. 3.1 and 3.9, already moving."
    table = Table("The last step: one joint, or two at once", columns, rows, note)
    return Outcome(claims, tables=[table], quantities=quantities)


def assembled(angles: Array, rates: Array) -> Body:
    """Three rods with joints 2 and 3, afloat, with weight, by the definition of Φ and B.

    Args:
        angles: of joints 1 to 3 [rad]; the first one turns the first rod against the world.
        rates: their velocities [rad/s].
    """
    model = _rods()
    dynamics = Dynamics(model)
    q, v = model.neutral(), np.zeros(model.nv)
    q[3:7] = (0.0, np.sin(0.5 * angles[0]), 0.0, np.cos(0.5 * angles[0]))
    v[4] = rates[0]
    for i in (2, 3):
        q[model.q_index(f"joint_{i}")], v[model.v_index(f"joint_{i}")] = angles[i - 1], rates[i - 1]
    free = dynamics.forward(q, v, np.zeros(model.nv))
    turned = (3, 4, 5, 0, 1, 2)  # the document has the angular part first
    J = np.vstack([dynamics.jacobian(handle, q)[turned, :] for handle in HANDLES])
    bias = np.concatenate([dynamics.acceleration(handle, q, v, free)[list(turned)] for handle in HANDLES])
    return Body(J @ np.linalg.solve(dynamics.mass_matrix(q), J.T), bias)


def held(body: Body, joints: int, sign: float) -> Held:
    """Y on the ground by its first handle, or by both (eqs. 3.21-3.23, 3.25-3.28).

    Args:
        body: Y.
        joints: 1 or 2.
        sign: of the force, eqs. 3.22 and 3.26: +1 as printed. With Tᵀ V̇ = 0 in eq. 3.21 it is -1.
    """
    phi, bias = body.phi[: 6 * joints, : 6 * joints], body.bias[: 6 * joints]
    T, active = np.kron(np.eye(joints), CONSTRAINT), np.kron(np.eye(joints), ACTIVE)
    Y = T.T @ phi @ T
    # Dependent conditions, those across the plane of a closed chain, get the least forces.
    force = sign * T @ np.linalg.lstsq(Y, T.T @ bias, rcond=1e-10)[0]
    rate = phi @ force + bias
    slips = float(np.max(np.abs(T.T @ rate)))
    return Held(active.T @ rate, slips, int(np.linalg.matrix_rank(Y, tol=1e-10 * np.linalg.norm(Y))), len(Y))


def _reference(model: Model) -> tuple[Array, Array]:
    """Accelerations of the whole mechanism, by its mass matrix and its loop's conditions, and the rates that it has."""
    dynamics = Dynamics(model, "crba", q0=ANGLES) if model.loops else Dynamics(model, "crba")
    rates = dynamics.project_to_constraints(ANGLES, RATES)[1] if model.loops else RATES
    return dynamics.forward(ANGLES, rates, np.zeros(3)), rates


def _joints_at_once(model: Model) -> int:
    """The most joints that a step of assembly closes."""
    return max(len(step.joints) for step in assembly_order(model.tree, "chain").steps)


def _rods() -> Model:
    builder = Builder("three_rods")
    for i in (1, 2, 3):
        builder.link(f"rod_{i}", 1.0, (0.0, 0.0, 0.5), (ACROSS, ACROSS, 0.0))
        if i > 1:
            builder.joint(f"joint_{i}", "revolute", f"rod_{i - 1}", f"rod_{i}", (0.0, 0.0, 1.0), axis=(0, 1, 0))
    builder.link("tip")
    builder.joint("tip_joint", "fixed", "rod_3", "tip", (0.0, 0.0, 1.0))
    return builder.build("floating", (0.0, 0.0, -9.81))
