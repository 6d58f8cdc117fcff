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
from typing import Any, NamedTuple

import numpy as np

from ada_controllers.balance import JOINTS, PRESETS, BalanceSettings
from ada_dynamics.analysis.balance import balance_of, fixed_feet_of
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.edit import with_parts
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.simulation import Log
from ada_experiments.pictures import picture, vector
from ada_experiments.push_sweep import angles_of
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
    trunk_angles,
)
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

_UNTIL_DOWN = 0.95  # [s]; before the push; a robot without motors has fallen by then
_AFTER_PUSH = 5.0  # [s]; with springs alone the robot leans forward and swings back 3 to 4 s after the push


class ControlCase(NamedTuple):
    """A push and the activity of the motors."""

    name: str
    push: Push
    settings: dict[str, Any] | None
    duration: float


CASES = {
    "off": ControlCase("motors off", AT_THE_HAND, None, _UNTIL_DOWN),
    "hand": ControlCase("springs (eq. 6.6) alone", AT_THE_HAND, {"strategy": "springs"}, 1.0 + _AFTER_PUSH),
    "shoulder": ControlCase("springs (eq. 6.6) alone", AT_THE_SHOULDER, {"strategy": "springs"}, 1.0 + _AFTER_PUSH),
    "hand, gains only": ControlCase(
        "upper-body rotation, no gravity compensation",
        AT_THE_HAND,
        {"strategy": "upper_body_rotation", "carry_weight": False},
        _UNTIL_DOWN,
    ),
    "shoulder, gains only": ControlCase(
        "combined strategy, no gravity compensation",
        AT_THE_SHOULDER,
        {"strategy": "combined", "carry_weight": False},
        _UNTIL_DOWN,
    ),
}


@experiment("pushes_without_control")
def pushes_without_control(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate the pushes without control and without the strategies."""
    angles = angles_of(settings_of(scenario, ("full_angles",)))
    logs: dict[str, Log] = {}
    for i, (key, case) in enumerate(CASES.items()):
        progress(i / len(CASES), f"{case.push.name}, {case.name}")
        logs[key] = on_fixed_feet(case.push, case.settings, case.duration)
    falls = {key: time_of_fall(log) for key, log in logs.items()}
    margins = {key: fixed_feet_of(logs[key]) for key in ("hand", "shoulder")}
    hand = CASES["hand"]
    behind = {
        label: _inside_the_heels(on_fixed_feet(hand.push, {"strategy": "springs", "full_angle": angle}, hand.duration))
        for label, angle in angles.items()
    }
    ahead = float(margins["shoulder"].soles[:, 0].max() - np.max(margins["shoulder"].zmp[:, 0]))
    both = max(float(np.min(found.margin)) for found in margins.values())
    quantities = {
        "inside_the_heels": Quantity(_inside_the_heels(logs["hand"]), "m", sweep=behind),
        "fall_without_motors": Quantity(falls["off"], "s"),
        "margin_of_springs": Quantity(both, "m"),
        "fall_of_rotation_gains": Quantity(falls["hand, gains only"], "s"),
        "fall_of_combined_gains": Quantity(falls["shoulder, gains only"], "s"),
    }
    rows = [
        (
            case.push.name,
            case.name,
            "-" if np.isnan(falls[key]) else f"{falls[key]:.2f}",
            f"{1e3 * np.min(margins[key].margin):.1f}" if key in margins else "-",
        )
        for key, case in CASES.items()
    ]
    columns = ("push", "motors", "fall after [s]", "smallest ZMP margin [mm]")
    notes = [
        "Fixed feet can pull on the ground where free feet would tip: with springs and gravity compensation the robot "
        f"swings back ({1e3 * ahead:.0f} mm remain to the toes after the push at the shoulder; negative: beyond them). "
        "With free feet it falls (T6.5)."
    ]
    table = Table("Without control", columns, rows)
    return Outcome([], _figures(logs, margins, output), [table], notes, quantities=quantities)


def _inside_the_heels(log: Log) -> float:
    """Smallest distance of the zero-moment point in front of the heels [m]."""
    found = fixed_feet_of(log)
    return float(np.min(found.zmp[:, 0]) - found.soles[:, 0].min())


def _figures(logs: dict[str, Log], margins: dict[str, Any], output: Path) -> list[Path]:
    heights = [
        Panel.of(f"{case.push.name}: {case.name}", "CoM z [m]", logs[key].t, {"": np.asarray(logs[key].com)[:, 2]})
        for key, case in CASES.items()
        if key not in margins
    ]
    tipping = [
        Panel.of(
            f"{CASES[key].push.name}: springs alone",
            "ZMP [m]",
            logs[key].t,
            {
                "x": found.zmp[:, 0],
                "heels": np.full(len(logs[key].t), found.soles[:, 0].min()),
                "toes": np.full(len(logs[key].t), found.soles[:, 0].max()),
            },
        )
        for key, found in margins.items()
    ]
    return [picture([*tipping, *heights], output / "t6_3_falls.png", "Without control", 2)]


_KNOWN = ("stiffness", "full_angle", "fine_step", "duration")


class FootCase(NamedTuple):
    """A push, and the strategy against it."""

    name: str
    push: Push
    settings: dict[str, Any]
    step: float = STEP


@experiment("feet_that_may_lift")
def feet_that_may_lift(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate both pushes with their strategies and with springs only, with the feet in contact."""
    part = settings_of(scenario, _KNOWN)
    stiffness, duration = part.positive("stiffness", "N/m"), part.positive("duration", "s")
    fine, full = part.positive("fine_step", "s"), {"full_angle": part.positive("full_angle", "rad")}
    cases = {
        "rotation": FootCase("upper-body rotation", AT_THE_HAND, {"strategy": "upper_body_rotation", **full}),
        "combined": FootCase("combined", AT_THE_SHOULDER, {"strategy": "combined", **full}),
        "often": FootCase(f"combined, {1e-3 / fine:g} kHz", AT_THE_SHOULDER, {"strategy": "combined", **full}, fine),
        "other": FootCase(
            "upper-body rotation, full angle 45 deg", AT_THE_SHOULDER, {"strategy": "upper_body_rotation"}
        ),
        "hand": FootCase("springs alone", AT_THE_HAND, {"strategy": "springs"}),
        "shoulder": FootCase("springs alone", AT_THE_SHOULDER, {"strategy": "springs"}),
    }
    logs: dict[str, Log] = {}
    for i, (key, case) in enumerate(cases.items()):
        progress(i / len(cases), f"{case.push.name}, {case.name}")
        logs[key] = on_free_feet(case.push, case.settings, duration, stiffness=stiffness, step=case.step)
    figures, tables = [_figure(cases, logs, output)], [_table(cases, logs)]
    return Outcome([], figures, tables, quantities=_feet_quantities(logs))


def _feet_quantities(logs: dict[str, Log]) -> dict[str, Quantity]:
    kept = [logs[key] for key in ("rotation", "combined")]
    return {
        "drop": Quantity(max(drop(log) for log in kept), "m"),
        "fall_of_other": Quantity(time_of_fall(logs["other"]), "s"),
        "swing_often": Quantity(swing_at_the_end(logs["often"]), "deg"),
        "swing_of_rotation": Quantity(swing_at_the_end(logs["rotation"]), "deg"),
        "phase_of_rotation": Quantity(phase(logs["rotation"], AT_THE_HAND.start)),
        "phase_of_combined": Quantity(phase(logs["combined"], AT_THE_SHOULDER.start)),
        "lift": Quantity(max(float(heights_of_corners(log).max()) for log in kept), "m"),
        "fall_of_springs": Quantity(max(time_of_fall(logs[key]) for key in ("hand", "shoulder")), "s"),
    }


def _table(cases: dict[str, FootCase], logs: dict[str, Log]) -> Table:
    columns = ("push", "strategy", "fall after [s]", "highest corner of a sole [mm]", "turn about z, y [deg]")
    rows = []
    for key, case in cases.items():
        log = logs[key]
        down = time_of_fall(log)
        stands = np.isnan(down)
        angles = np.abs(trunk_angles(log)).max(axis=0)
        rows.append(
            (
                case.push.name,
                case.name,
                "-" if stands else f"{down:.2f}",
                f"{1e3 * heights_of_corners(log).max():.2f}" if stands else "-",
                f"{angles[2]:.1f}, {angles[1]:.1f}" if stands else "-",
            )
        )
    return Table("Feet that may lift", columns, rows)


def _figure(cases: dict[str, FootCase], logs: dict[str, Log], output: Path) -> Path:
    panels = []
    for key in ("rotation", "combined"):
        log, name = logs[key], cases[key].name
        panels += [
            vector(f"{name}: angular momentum", "[kg m²/s]", log.t, np.asarray(log.momentum)[:, 3:]),
            vector(f"{name}: upper body", "[deg]", log.t, trunk_angles(log)),
            Panel.of(
                f"{name}: highest corner of a sole",
                "[mm]",
                log.t,
                dict(zip(("right", "left"), 1e3 * heights_of_corners(log).T, strict=True)),
            ),
            Panel.of(f"{name}: margin of the ZMP", "[m]", log.t, {"": _finite(balance_of(log).margin)}),
        ]
    heights = [
        Series(f"{case.name}, {case.push.link}", logs[key].t, np.asarray(logs[key].com)[:, 2])
        for key, case in cases.items()
    ]
    panels.append(Panel("Height of the centre of mass", "[m]", heights))
    return picture(panels, output / "t6_5_feet.png", "Feet that may lift", 2)


def _finite(values: Any) -> Any:
    return np.where(np.isfinite(values), values, np.nan)


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
    return Outcome([], [_eigenvalues_figure(found, output)], [table], quantities=quantities)


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


def _eigenvalues_figure(found: dict[GainCase, Array], output: Path) -> Path:
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
