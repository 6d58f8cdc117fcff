# SPDX-License-Identifier: Apache-2.0
"""T6.3, T6.5, T6.6: limits of the balance control of Takahashi 2012, sec. 6.3.

T6.3: pushes of T6.1 and T6.2 without control and with parts of it. T6.5: the same pushes with unilateral foot contact,
proposed as future work (sec. 6.4). T6.6: small motions on fixed feet about the upright pose. With gravity compensation
each pose of the closed chain is an equilibrium without springs. With q = N y, N a basis of the motions that do not move
the soles, small motions satisfy Nᵀ M N ÿ + Nᵀ D N ẏ + Nᵀ K N y = 0. Eq. 6.7 puts k_p4 and k_d4 off the diagonals of K
and D: the right ankle follows the left one, but not vice versa. Such a force is not conservative and can excite a
motion.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from ada_controllers.balance import JOINTS, PRESETS, BalanceSettings
from ada_dynamics.analysis.balance import fixed_feet_of
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Curve, Panel
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.edit import with_parts
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.simulation import Log
from ada_experiments.pictures import picture
from ada_experiments.push_sweep import angles_of, swept
from ada_experiments.pushed_humanoid import (
    AT_THE_HAND,
    AT_THE_SHOULDER,
    STEP,
    Push,
    drop,
    heights_of_corners,
    on_fixed_feet,
    on_free_feet,
    phase,
    swing_at_the_end,
    time_of_fall,
)
from ada_experiments.settings import read_settings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

_UNTIL_DOWN = 0.95  # [s]; before the push; a robot without motors has fallen by then
_AFTER_PUSH = 5.0  # [s]; with springs alone the robot leans forward and swings back 3 to 4 s after the push


SPRINGS: dict[str, Any] = {"strategy": "springs"}


@experiment("pushes_without_control")
def pushes_without_control(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate the pushes without control and without the strategies."""
    angles = angles_of(settings_of(scenario, ("full_angles",)).texts("full_angles"))
    duration = AT_THE_HAND.start + _AFTER_PUSH
    progress(0.0, "without motors and without gravity compensation")
    weak = {name: {"strategy": name, "carry_weight": False} for name in ("upper_body_rotation", "combined")}
    falls = {
        "fall_without_motors": on_fixed_feet(AT_THE_HAND, None, _UNTIL_DOWN),
        "fall_of_rotation_gains": on_fixed_feet(AT_THE_HAND, weak["upper_body_rotation"], _UNTIL_DOWN),
        "fall_of_combined_gains": on_fixed_feet(AT_THE_SHOULDER, weak["combined"], _UNTIL_DOWN),
    }
    hand, shoulder = (on_fixed_feet(push, SPRINGS, duration) for push in (AT_THE_HAND, AT_THE_SHOULDER))
    behind = {}
    for label, angle in angles.items():
        progress(0.6, f"springs alone, {label}")
        behind[label] = inside_the_heels(on_fixed_feet(AT_THE_HAND, {**SPRINGS, "full_angle": angle}, duration))
    quantities = {name: Quantity(time_of_fall(log), "s") for name, log in falls.items()}
    quantities["inside_the_heels"] = swept(behind, "m")
    margins = [float(np.min(fixed_feet_of(log).margin)) for log in (hand, shoulder)]
    quantities["margin_of_springs"] = Quantity(max(margins), "m")
    return Outcome(quantities=quantities)


def inside_the_heels(log: Log) -> float:
    """Smallest distance of the zero-moment point in front of the heels [m]."""
    found = fixed_feet_of(log)
    return float(np.min(found.zmp[:, 0]) - found.soles[:, 0].min())


class FeetSettings(NamedTuple):
    """Settings of T6.5."""

    stiffness: Annotated[float, "N/m"]  # of each corner of a sole
    full_angle: Annotated[float, "rad"]
    fine_step: Annotated[float, "s"]  # of a second combined case
    duration: Annotated[float, "s"]


class FootCase(NamedTuple):
    """A push, and the strategy against it."""

    name: str
    push: Push
    settings: dict[str, Any]
    step: float = STEP


@experiment("feet_that_may_lift")
def feet_that_may_lift(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate both pushes with their strategies and with springs only, with the feet in contact."""
    chosen = read_settings(scenario, FeetSettings)
    rotation = {"strategy": "upper_body_rotation"}
    combined = {"strategy": "combined", "full_angle": chosen.full_angle}
    cases = {
        "rotation": FootCase("upper-body rotation", AT_THE_HAND, {**rotation, "full_angle": chosen.full_angle}),
        "combined": FootCase("combined", AT_THE_SHOULDER, combined),
        "often": FootCase(f"combined, {1e-3 / chosen.fine_step:g} kHz", AT_THE_SHOULDER, combined, chosen.fine_step),
        "other": FootCase("upper-body rotation, full angle 45 deg", AT_THE_SHOULDER, rotation),
        "hand": FootCase("springs alone", AT_THE_HAND, SPRINGS),
        "shoulder": FootCase("springs alone", AT_THE_SHOULDER, SPRINGS),
    }
    logs: dict[str, Log] = {}
    for i, (key, case) in enumerate(cases.items()):
        progress(i / len(cases), f"{case.push.name}, {case.name}")
        logs[key] = on_free_feet(case.push, case.settings, chosen.duration, stiffness=chosen.stiffness, step=case.step)
    kept = [logs[key] for key in ("rotation", "combined")]
    quantities = {
        "drop": Quantity(max(drop(log) for log in kept), "m"),
        "fall_of_other": Quantity(time_of_fall(logs["other"]), "s"),
        "swing_often": Quantity(swing_at_the_end(logs["often"]), "deg"),
        "swing_of_rotation": Quantity(swing_at_the_end(logs["rotation"]), "deg"),
        "phase_of_rotation": Quantity(phase(logs["rotation"], AT_THE_HAND.start)),
        "phase_of_combined": Quantity(phase(logs["combined"], AT_THE_SHOULDER.start)),
        "lift": Quantity(max(float(heights_of_corners(log).max()) for log in kept), "m"),
        "fall_of_springs": Quantity(max(time_of_fall(logs[key]) for key in ("hand", "shoulder")), "s"),
    }
    heights = [
        Curve(f"{case.name}, {case.push.link}", logs[key].t, np.asarray(logs[key].com)[:, 2])
        for key, case in cases.items()
    ]
    panel = Panel("Height of the centre of mass", "[m]", heights)
    return Outcome([], [picture([panel], output / "t6_5_feet.png", "Feet that may lift")], quantities=quantities)


STRATEGIES = {"springs": "springs alone", "upper_body_rotation": "upper-body rotation"}
PHASES = {"merged": None, "reaction": 0.0, "recovery": 1.0}  # share of the recovery gains; None: both phases merged


class GainCase(NamedTuple):
    """Case of the eigenvalue analysis."""

    strategy: str
    phase: str
    rotors: bool


GAIN_CASES = tuple(
    GainCase(strategy, phase, rotors) for rotors in (False, True) for strategy in STRATEGIES for phase in PHASES
)


@experiment("upright_pose")
def upright_pose(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Compute the eigenvalues of the four motions by strategy and phase, with and without rotors."""
    settings_of(scenario, ())
    found = {}
    for i, case in enumerate(GAIN_CASES):
        progress(i / len(GAIN_CASES), f"{STRATEGIES[case.strategy]}, {case.phase}")
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
    return Outcome(tables=[table], quantities=quantities)


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
