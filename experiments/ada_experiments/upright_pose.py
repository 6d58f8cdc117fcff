# SPDX-License-Identifier: Apache-2.0
"""T6.6: small motions of HOAP-2 on fixed feet about its upright pose (gains of Takahashi 2012, sec. 6.3.1).

With gravity compensation each pose of the closed chain is an equilibrium without springs. With q = N y, N a basis of
the motions that do not move the soles, small motions satisfy Nᵀ M N ÿ + Nᵀ D N ẏ + Nᵀ K N y = 0. Eq. 6.7 puts k_p4 and
k_d4 off the diagonals of K and D: the right ankle follows the left one, but not vice versa. Such a force is not
conservative and can excite a motion.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_controllers.balance import JOINTS, PRESETS, BalanceSettings
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.edit import with_parts
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_experiments.pictures import picture
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

STRATEGIES = {"springs": "springs alone", "upper_body_rotation": "upper-body rotation"}
PHASES = {"merged": None, "reaction": 0.0, "recovery": 1.0}  # share of the recovery gains; None: both phases merged


class GainCase(NamedTuple):
    """Case of the eigenvalue analysis."""

    strategy: str
    phase: str
    rotors: bool


CASES = tuple(
    GainCase(strategy, phase, rotors) for rotors in (False, True) for strategy in STRATEGIES for phase in PHASES
)


@experiment("upright_pose")
def upright_pose(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Compute the eigenvalues of the four motions by strategy and phase, with and without rotors."""
    settings_of(scenario, ())
    found = {}
    for i, case in enumerate(CASES):
        progress(i / len(CASES), f"{STRATEGIES[case.strategy]}, {case.phase}")
        found[case] = eigenvalues(reaching(case.rotors), case.strategy, PHASES[case.phase])
    slowest = found[GainCase("springs", "merged", False)][0]
    rotation = {(case.phase, case.rotors): values[0].real for case, values in found.items() if "rot" in case.strategy}
    quantities = {
        "merged_phases": Quantity(rotation["merged", False], "1/s"),
        "recovery_gains": Quantity(rotation["recovery", False], "1/s"),
        "with_rotors": Quantity(min(rotation[phase, True] for phase in PHASES), "1/s"),
        "slowest_period": Quantity(2.0 * np.pi / abs(slowest.imag), "s"),
        "slowest_decay": Quantity(abs(slowest.real), "1/s"),
    }
    rows = [
        (
            STRATEGIES[case.strategy],
            case.phase,
            "with" if case.rotors else "without",
            ", ".join(f"{value.real:+.2f} ± {abs(value.imag):.2f}i" for value in values[values.imag >= 0.0][:3]),
        )
        for case, values in found.items()
    ]
    table = Table("Least damped motions [1/s, rad/s]", ("strategy", "gains", "rotors", "eigenvalues"), rows)
    return Outcome([], [_figure(found, output)], [table], quantities=quantities)


def reaching(rotors: bool) -> Model:
    """HOAP-2 on both feet with its left arm raised, without rotors or with those of `hoap2_10dof`."""
    model, others = load("hoap2_reaching"), load("hoap2_10dof").joints
    own = [joint for name, joint in model.joints.items() if rotors and name in others]
    return with_parts(model, *(replace(joint, armature=others[joint.name].armature) for joint in own))


def eigenvalues(model: Model, strategy: str, recovering: float | None) -> Array:
    """Eigenvalues of small motions about the upright pose, the least damped first [1/s, rad/s].

    Args:
        model: on fixed feet.
        strategy: of the controller.
        recovering: share of the recovery gains; None: gains of both phases merged.
    """
    dynamics, upright = Dynamics(model), np.zeros(model.nq)
    loop = dynamics.jacobian("left_sole", upright)
    basis = np.linalg.svd(loop)[2][np.linalg.matrix_rank(loop) :].T
    stiffness, damping = (basis.T @ matrix @ basis for matrix in gain_matrices(model, strategy, recovering))
    mass = basis.T @ dynamics.mass_matrix(upright) @ basis
    count = basis.shape[1]
    motion = np.block(
        [[np.zeros((count, count)), np.eye(count)], [-np.linalg.solve(mass, np.hstack([stiffness, damping]))]]
    )
    found = np.linalg.eigvals(motion)
    return np.asarray(found[np.argsort(-found.real)])


def gain_matrices(model: Model, strategy: str, recovering: float | None) -> tuple[Array, Array]:
    """K and D of the upright robot: joint torques are -K θ - D θ̇ plus gravity compensation."""
    at = [model.v_index(name).start for name in JOINTS]
    stiffness, damping = (np.zeros((model.nv, model.nv)) for _ in range(2))
    for matrix, gains in zip((stiffness, damping), PRESETS[strategy].gains(0.0, recovering), strict=True):
        matrix[at, at] = gains
    if strategy == "upper_body_rotation":
        own = BalanceSettings()  # eq. 6.7
        stiffness[at[3], [at[3], at[8]]] = 0.0, own.right_ankle_stiffness
        damping[at[3], [at[3], at[8]]] = 0.0, own.right_ankle_damping
    return stiffness, damping


def _figure(found: dict[GainCase, Array], output: Path) -> Path:
    panels = []
    for rotors in (False, True):
        curves = tuple(
            Series(f"{STRATEGIES[case.strategy]}, {case.phase}", values.real, values.imag, "o")
            for case, values in found.items()
            if case.rotors == rotors
        )
        title = "with rotors" if rotors else "without rotors"
        panels.append(Panel(title, "imaginary part [rad/s]", curves, xlabel="real part [1/s]"))
    return picture(panels, output / "t6_6_eigenvalues.png", "Small motions about the upright pose", 2)
