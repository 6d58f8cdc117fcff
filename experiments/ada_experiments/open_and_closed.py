# SPDX-License-Identifier: Apache-2.0
"""Last assembly step of the open 3R and the closed 4R chain (Takahashi 2012, sec. 3.2, eqs. 3.21-3.28).

Both chains consist of the same three rods, joined at joints 2 and 3 to one articulated body Y (figs. 3.13 and 3.14, a
to c). Joint 1 alone, or joints 1 and 4 together, connect Y to the ground. The operators of Y are computed from their
definition (eq. 2.4): the accelerations of the handles of the floating rods due to the wrenches on the handles. The
result is thus independent of the assembly in `ada_dynamics`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_dynamics.algorithms.assembly_order import assembly_order
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_tools.scenario.registry import Claim, Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

OPEN, CLOSED = "planar_3r", "closed_4r"
ANGLES = np.radians((135.0, -45.0, 225.0))  # of figs. 3.1 and 3.9
RATES = np.array((0.7, -1.1, 0.4))  # of the open chain [rad/s]; projected for the closed chain
ACROSS = 1.0 / 12.0  # transverse moment of inertia of a rod [kg m²]
HANDLES = ("rod_1", "tip")  # at joints 1 and 4

# Eq. 3.24 for a joint about y: [angular; linear] as in the document.
ACTIVE = np.eye(6)[:, 1:2]
CONSTRAINT = np.delete(np.eye(6), 1, axis=1)


class GroundedBody(NamedTuple):
    """Y connected to the ground."""

    accelerations: Array  # of the joints to the ground, T_aᵀ V̇ [rad/s²]
    slips: float  # largest acceleration of the handles in the constrained directions; zero if the constraints hold
    rank: int  # rank of the inverted matrix
    size: int  # size of the inverted matrix


@experiment("open_and_closed")
def open_and_closed(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Connect the assembled rods by one and by two joints; compare with the equations of the whole mechanism."""
    models = {name: load(name) for name in (OPEN, CLOSED)}
    claims: list[Claim] = []
    quantities: dict[str, Quantity] = {}
    for i, (name, count) in enumerate(((OPEN, 1), (CLOSED, 2))):
        progress(0.5 * i, f"last assembly step of {name}")
        wanted, rates = _reference(models[name])
        phi, bias = assembled(ANGLES, rates)
        mended, printed = held(phi, bias, count, -1.0), held(phi, bias, count, 1.0)
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
        if count == 2:
            # Joint 4 is measured from the ground: rod 3 rotates by the sum of the other three joints.
            quantities["joint_4_error"] = Quantity(float(abs(np.sum(wanted) - mended.accelerations[1])), "rad/s²")
    quantities["rod_rank"] = Quantity(int(np.linalg.matrix_rank(np.diag((ACROSS, ACROSS, 0.0, 1.0, 1.0, 1.0)))))
    return Outcome(claims, quantities=quantities)


def assembled(angles: Array, rates: Array) -> tuple[Array, Array]:
    """Return Φ, (12, 12), and B, (12,), of three floating rods with joints 2 and 3 under gravity.

    The accelerations of the handles are V̇ = Φ F + B (eqs. 2.4, 3.21, 3.25).

    Args:
        angles: of joints 1 to 3 [rad]; joint 1 is the rotation of the first rod in the world frame.
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
    return J @ np.linalg.solve(dynamics.mass_matrix(q), J.T), bias


def held(phi: Array, bias: Array, joints: int, sign: float) -> GroundedBody:
    """Connect the first handle of Y, or both, to the ground (eqs. 3.21-3.23, 3.25-3.28).

    Args:
        phi: Φ of Y.
        bias: B of Y.
        joints: 1 or 2.
        sign: of the force in eqs. 3.22 and 3.26: +1 as printed; -1 follows from Tᵀ V̇ = 0 in eq. 3.21.
    """
    phi, bias = phi[: 6 * joints, : 6 * joints], bias[: 6 * joints]
    T, active = np.kron(np.eye(joints), CONSTRAINT), np.kron(np.eye(joints), ACTIVE)
    Y = T.T @ phi @ T
    # The out-of-plane constraints of the closed chain are redundant: take the minimum-norm force.
    force = sign * T @ np.linalg.lstsq(Y, T.T @ bias, rcond=1e-10)[0]
    rate = phi @ force + bias
    slips = float(np.max(np.abs(T.T @ rate)))
    return GroundedBody(active.T @ rate, slips, int(np.linalg.matrix_rank(Y, tol=1e-10 * np.linalg.norm(Y))), len(Y))


def _reference(model: Model) -> tuple[Array, Array]:
    """Accelerations of the whole mechanism by its mass matrix and loop constraints, and the projected velocities."""
    dynamics = Dynamics(model, "crba", q0=ANGLES) if model.loops else Dynamics(model, "crba")
    rates = dynamics.project_to_constraints(ANGLES, RATES)[1] if model.loops else RATES
    return dynamics.forward(ANGLES, rates, np.zeros(3)), rates


def _joints_at_once(model: Model) -> int:
    """Largest number of joints that are closed in one assembly step."""
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
