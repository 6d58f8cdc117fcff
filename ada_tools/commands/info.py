# SPDX-License-Identifier: Apache-2.0
"""Show the tree, loops, masses, limits and size of a robot.

Shows the links and joints as a tree, sizes of the coordinate vectors, masses, limits and results of `ada check`.
For closed loops: loop joints, mobility, redundant constraints and motors, and which joint
forces are uniquely determined.

Examples:
  ada info pa10
  ada info robot.urdf --base floating
  ada info robot.urdf --mimic free --json
  ada info stewart
  ada info robot.urdf --loops robot.loops.yaml
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.constraints.report import ConstraintReport, constraint_report
from ada_dynamics.errors import AdaError
from ada_dynamics.model.elements import Joint, LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.robots.check import check
from ada_dynamics.robots.load import load
from ada_tools.commands.common import add_robot_arguments, axis_text, mappings, print_json, source_of, start_pose, table

_DEEPEST = 60  # maximum indentation in characters
_MOST_ROWS = 400  # maximum lines of a table or tree in text
_SHOWN = 12  # maximum number of names per line
COMPONENTS = ("fx", "fy", "fz", "nx", "ny", "nz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="FILE|NAME", help="file of a robot, name from `ada list`, or - for stdin")
    parser.add_argument(
        "--mimic", choices=("keep", "free"), default="keep", help="treatment of <mimic> (default: keep)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_robot_arguments(parser, start="zero, or from the catalogue")


def run(options: argparse.Namespace) -> int:
    """Load the robot and print its description."""
    source, arguments = source_of(options.robot), mappings(options)
    model = load(source, options.base, mimic=options.mimic, mappings=arguments, loops=options.loops)
    report = check(source, options.base, arguments, options.loops)
    loops, loop_lines = loops_section(model, start_pose(options, model))
    if options.json:
        print_json({**describe(model), "check": report.to_dict()["counts"], "loops": loops})
        return 0
    lines = [*_summary(model), "", *_shortened(tree_lines(model)), "", *_shortened(_limit_table(model))]
    lines += ["", "loops", *_shortened(loop_lines)] if loop_lines else []
    lines += ["", str(report).splitlines()[0] + ("" if not report.findings else f"; see: ada check {options.robot}")]
    print("\n".join(lines))
    return 0


# --- plain data -------------------------------------------------------------------------------------------------
_LIMITS = ("lower", "upper", "velocity", "effort")
_LOSSES = ("damping", "friction", "armature", "stiffness", "rest")


def describe(model: Model) -> dict[str, Any]:
    """Model as plain data."""
    return {
        **{key: getattr(model, key) for key in ("name", "root", "nq", "nv", "total_mass", "gravity")},
        "links": [
            {"name": link.name, "mass": link.mass, "com": link.com, "inertia": link.inertia}
            for link in model.links.values()
        ],
        "joints": [_joint_data(model, joint) for joint in model.joints.values()],
    }


def _joint_data(model: Model, joint: Joint) -> dict[str, Any]:
    has_own = joint.name in model.joint_names
    q, v = model.q_index(joint.name) if has_own else None, model.v_index(joint.name) if has_own else None
    return {
        **{"name": joint.name, "type": joint.kind, "parent": joint.parent, "child": joint.child, "axis": joint.axis},
        **{"q": q and [q.start, q.stop], "v": v and [v.start, v.stop]},
        **{key: getattr(joint.limits, key) for key in _LIMITS},
        **{key: getattr(joint, key) for key in _LOSSES},
        "mimic": None if joint.mimic is None else vars(joint.mimic),
    }


# --- text -------------------------------------------------------------------------------------------------------
def _summary(model: Model) -> list[str]:
    moving = sum(1 for joint in model.joints.values() if joint.kind != "fixed")
    mimics = sum(1 for joint in model.joints.values() if joint.mimic is not None)
    tied = f", {mimics} of them mimic others" if mimics else ""
    closed = f", {len(model.loops)} loop{'s' if len(model.loops) > 1 else ''}" if model.loops else ""
    return [
        f"{model.name}: {len(model.links)} links, {len(model.joints)} joints ({moving} move{tied}){closed}",
        f"nq = {model.nq}, nv = {model.nv}, total mass {model.total_mass:.6g} kg",
    ]


def tree_lines(model: Model) -> list[str]:
    """Links as a tree: serial chains keep the indentation, branches are indented."""
    children: dict[str, list[Joint]] = {}
    for joint in model.joints.values():
        children.setdefault(joint.parent, []).append(joint)
    lines = [_link_text(model, model.root)]
    pending = _branches(children.get(model.root, []), "")
    while pending:
        joint, lead, below = pending.pop()
        lines.append(f"{lead}{_joint_text(joint)} -> {_link_text(model, joint.child)}")
        pending.extend(_branches(children.get(joint.child, []), below))
    return lines


def _branches(joints: list[Joint], indent: str) -> list[tuple[Joint, str, str]]:
    """Joints of a link in reverse order, with the prefixes of their own line and of their subtree."""
    joints = [j for j in joints if j.parent != j.child]
    if len(joints) == 1:
        return [(joints[0], indent + "| ", indent)] if not indent else [(joints[0], indent, indent)]
    indent = indent[:_DEEPEST]
    marked = [(j, indent + "|- ", indent + "|  ") for j in joints[:-1]]
    marked += [(j, indent + "`- ", indent + "   ") for j in joints[-1:]]
    return marked[::-1]


def _joint_text(joint: Joint) -> str:
    if joint.kind == "fixed":
        return f"{joint.name} (fixed)"
    about = f" {axis_text(joint.axis)}" if joint.type.axes else ""
    mimic = "" if joint.mimic is None else f", mimics {joint.mimic.joint}"
    held = ", ".join(map(str, joint.bounds)) if joint.kind == "spherical" else ""
    return f"{joint.name} ({joint.kind}{about}{mimic}{', ' * bool(held)}{held})"


def _link_text(model: Model, name: str) -> str:
    link = model.links.get(name)
    return name if link is None or not link.mass else f"{name} [{link.mass:.4g} kg]"


def _limit_table(model: Model) -> list[str]:
    columns = [*_LIMITS, *(_LOSSES if model.stiffness.any() else _LOSSES[:3])]
    moving = [joint for joint in model.joints.values() if joint.kind != "fixed"]
    rows = [
        (joint.name, joint.kind, *(getattr(joint.limits if key in _LIMITS else joint, key) for key in columns))
        for joint in moving
    ]
    units = "SI units, angles in rad; - : unlimited"
    return [*table(["joint", "type", *columns], rows), units] if rows else ["no joint moves"]


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_ROWS:
        return lines
    return [*lines[:_MOST_ROWS], f"... {len(lines) - _MOST_ROWS} more lines; --json has all of them"]


# --- loops ------------------------------------------------------------------------------------------------------
def loops_section(model: Model, guess: NDArray[np.float64] | None = None) -> tuple[dict[str, Any], list[str]]:
    """Loops, mobility, redundancy, motors and unique joint forces; loops are closed from the guess."""
    if not model.loops:
        return {}, []
    listed = {"loops": [_loop_data(model, loop) for loop in model.loops.values()]}
    lines = [_loop_text(model, loop) for loop in model.loops.values()]
    try:
        seen = constraint_report(model, guess)
    except (AdaError, ArithmeticError) as problem:  # the loops themselves are still shown
        return {**listed, "problem": str(problem)}, [*lines, str(problem)]
    return {**listed, **_constraint_data(seen)}, [*lines, *_constraint_text(seen)]


def _loop_data(model: Model, loop: LoopJoint) -> dict[str, Any]:
    return {
        **{"name": loop.name, "type": loop.kind, "parent": loop.parent, "child": loop.child},
        "axis": loop.axis if loop.type.axes else None,
        "parent_xyz": loop.parent_xyz,
        "child_xyz": loop.child_xyz,
        "conditions": _conditions(model, loop),
    }


def _conditions(model: Model, loop: LoopJoint) -> list[str]:
    inside = next(one for one in model.tree.loops if one.name == loop.name)
    return [str(kind) for kind in inside.rows]


def _constraint_data(seen: ConstraintReport) -> dict[str, Any]:
    analysis, motors = seen.analysis, seen.motors
    return {
        "velocities": analysis.constraints.model.nv,
        "independent_conditions": analysis.rank,
        "mobility": analysis.mobility,
        "mobility_in_pose": seen.state.mobility,
        "held_joints": list(seen.held),
        "redundant": analysis.redundant_names(),
        "start": {"closes": seen.start_is_closed, "gap": seen.start_violation, "q": seen.start},
        "pose": {
            "q": seen.q,
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


def _loop_text(model: Model, loop: LoopJoint) -> str:
    about = f" {axis_text(loop.axis)}" if loop.type.axes else ""
    count = len(_conditions(model, loop))
    return f"{loop.name} ({loop.kind}{about}): {loop.parent} -> {loop.child}, {count} constraints"


def _constraint_text(seen: ConstraintReport) -> list[str]:
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
    loop, gap = max(seen.start_violation.items(), key=lambda item: item[1])
    if seen.start_is_closed:
        return f"the initial configuration closes all loops: largest closure error {gap:.1e} [m, rad]"
    return (
        f"the initial configuration has closure error {gap:.3g} at loop {loop}; the closed configuration is "
        f"{seen.moved:.3g} from it, largest closure error {seen.state.largest_violation:.1e} [m, rad]"
    )


def _motor_text(seen: ConstraintReport) -> str:
    motors = seen.motors
    which = _names(motors.joints) if motors.are_named else "all joints, none is specified"
    wrong = {"over-actuated": motors.surplus, "under-actuated": motors.missing}
    verdict = ", ".join(f"{word} by {count}" for word, count in wrong.items() if count) or "fully actuated"
    return f"{motors.velocities} motors ({which}) drive {motors.driven} motions, mobility {motors.mobility}: {verdict}"


def _unique_text(seen: ConstraintReport) -> list[str]:
    if all(flags.all() for flags in seen.unique.values()):
        return ["all joint forces and moments are uniquely determined"]
    rows = [(joint, *("+" if flag else "." for flag in flags)) for joint, flags in seen.unique.items()]
    head = "joint forces and moments: + uniquely determined, . indeterminate (depends on compliance and tolerances)"
    return [head, *table(("joint", *COMPONENTS), rows)]


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > _SHOWN else "") or "none"
