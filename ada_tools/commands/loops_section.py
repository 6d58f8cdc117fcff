# SPDX-License-Identifier: Apache-2.0
"""Loop constraints of a robot, for `ada info`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.constraints.report import ConstraintReport, constraint_report
from ada_dynamics.errors import ModelError
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.model import Model
from ada_tools.commands.common import axis_text, table

COMPONENTS = ("fx", "fy", "fz", "nx", "ny", "nz")

_SHOWN = 12  # maximum number of names per line


def loops_section(model: Model, guess: NDArray[np.float64] | None = None) -> tuple[dict[str, Any], list[str]]:
    """Loops, mobility, redundancy, motors and unique joint forces; empty for a model without loops.

    Args:
        model: robot model.
        guess: approximate configuration for closing the loops; default: neutral.
    """
    if not model.loops:
        return {}, []
    listed = {"loops": [_loop_data(model, loop) for loop in model.loops.values()]}
    lines = [_loop_text(model, loop) for loop in model.loops.values()]
    try:
        seen = constraint_report(model, guess)
    except ModelError as problem:
        return {**listed, "problem": str(problem)}, [*lines, str(problem)]
    return {**listed, **_data(seen)}, [*lines, *_text(seen)]


# --- plain data -------------------------------------------------------------------------------------------------
def _loop_data(model: Model, loop: LoopJoint) -> dict[str, Any]:
    return {
        "name": loop.name,
        "type": loop.kind,
        "parent": loop.parent,
        "child": loop.child,
        "axis": loop.axis.tolist() if loop.type.axes else None,
        "parent_xyz": loop.parent_xyz.tolist(),
        "child_xyz": loop.child_xyz.tolist(),
        "conditions": _conditions(model, loop),
    }


def _conditions(model: Model, loop: LoopJoint) -> list[str]:
    inside = next(one for one in model.tree.loops if one.name == loop.name)
    return [str(kind) for kind in inside.rows]


def _data(seen: ConstraintReport) -> dict[str, Any]:
    analysis, motors = seen.analysis, seen.motors
    return {
        "velocities": analysis.constraints.model.nv,
        "independent_conditions": analysis.rank,
        "mobility": analysis.mobility,
        "mobility_in_pose": seen.state.mobility,
        "held_joints": list(seen.held),
        "redundant": analysis.redundant_names(),
        "start": {"closes": seen.start_is_closed, "gap": seen.start_violation, "q": seen.start.tolist()},
        "pose": {
            "q": seen.q.tolist(),
            "gap": seen.state.largest_violation,
            "moved": seen.moved,
            "sigma": seen.state.sigma,
            "is_singular": seen.state.is_singular,
        },
        "motors": {
            "joints": list(motors.joints),
            "are_named": motors.are_named,
            "velocities": motors.velocities,
            "driven_motions": motors.driven,
            "over_actuated_by": motors.surplus,
            "under_actuated_by": motors.missing,
        },
        "unique_components": {
            joint: dict(zip(COMPONENTS, map(bool, flags), strict=True)) for joint, flags in seen.unique.items()
        },
    }


# --- text -------------------------------------------------------------------------------------------------------
def _loop_text(model: Model, loop: LoopJoint) -> str:
    about = f" {axis_text(loop.axis)}" if loop.type.axes else ""
    count = len(_conditions(model, loop))
    return f"{loop.name} ({loop.kind}{about}): {loop.parent} -> {loop.child}, {count} constraints"


def _text(seen: ConstraintReport) -> list[str]:
    analysis = seen.analysis
    singular = f", {seen.state.mobility} in this singular configuration" if seen.state.is_singular else ""
    return [
        f"mobility {analysis.mobility}{singular}: {analysis.constraints.model.nv} velocities of the tree, "
        f"{analysis.rank} independent constraints",
        *([f"immobile joints: {_names(seen.held)}"] if seen.held else []),
        *(f"redundant: {text}" for text in analysis.redundant_names()),
        _pose_text(seen),
        _motor_text(seen),
        *_unique_text(seen),
    ]


def _pose_text(seen: ConstraintReport) -> str:
    named = (
        "the zero configuration"
        if np.array_equal(seen.start, seen.analysis.constraints.model.neutral())
        else "the initial configuration"
    )
    if seen.start_is_closed:
        return f"{named} closes all loops: largest closure error {max(seen.start_violation.values()):.1e}"
    loop, gap = max(seen.start_violation.items(), key=lambda item: item[1])
    return (
        f"{named} has closure error {gap:.3g} at loop {loop}; the closed configuration is {seen.moved:.3g} from it, "
        f"largest closure error {seen.state.largest_violation:.1e} [m, rad]"
    )


def _motor_text(seen: ConstraintReport) -> str:
    motors = seen.motors
    which = _names(motors.joints) if motors.are_named else "all joints, none is specified"
    verdict = "fully actuated"
    if motors.surplus and motors.missing:
        verdict = f"they drive {motors.driven} motions: over-actuated by {motors.surplus}, "
        verdict += f"under-actuated by {motors.missing}"
    elif motors.surplus:
        verdict = f"over-actuated by {motors.surplus}"
    elif motors.missing:
        verdict = f"under-actuated by {motors.missing}"
    return f"{motors.velocities} motors ({which}) for a mobility of {motors.mobility}: {verdict}"


def _unique_text(seen: ConstraintReport) -> list[str]:
    if all(flags.all() for flags in seen.unique.values()):
        return ["all joint forces and moments are uniquely determined"]
    rows = [(joint, *("+" if flag else "." for flag in flags)) for joint, flags in seen.unique.items()]
    head = "joint forces and moments: + uniquely determined, . indeterminate (depends on compliance and tolerances)"
    return [head, *table(("joint", *COMPONENTS), rows)]


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > _SHOWN else "") or "none"
