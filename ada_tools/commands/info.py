# SPDX-License-Identifier: Apache-2.0
"""Show the tree, loops, masses, limits and size of a robot.

Shows the links and joints as a tree, sizes of the coordinate vectors, masses, limits and results of `ada check`.
For closed loops: loop joints, mobility, redundant constraints and motors, and which joint
forces are uniquely determined.

Examples:
  ada info pa10
  ada info robot.urdf --base floating
  ada info stewart
  ada info robot.urdf --loops robot.loops.yaml
"""

from __future__ import annotations

import argparse

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.report import ConstraintReport, constraint_report
from ada_dynamics.errors import AdaError
from ada_dynamics.model.elements import Joint, LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.robots.check import check
from ada_dynamics.robots.load import load
from ada_tools.commands.common import add_robot_arguments, axis_text, mappings, source_of, start_pose, table

_DEEPEST = 60  # maximum indentation in characters
_SHOWN = 12  # maximum number of names per line
_LIMITS = ("lower", "upper", "velocity", "effort")
_LOSSES = ("damping", "friction", "armature", "stiffness", "rest")
COMPONENTS = ("fx", "fy", "fz", "nx", "ny", "nz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="FILE|NAME", help="file of a robot, name from `ada list`, or - for stdin")
    add_robot_arguments(parser, start="zero, or from the catalogue")


def run(options: argparse.Namespace) -> int:
    """Load the robot and print its description."""
    source, arguments = source_of(options.robot), mappings(options)
    model = load(source, options.base, mappings=arguments, loops=options.loops)
    report = check(source, options.base, arguments, options.loops)
    loops = loops_section(model, start_pose(options, model))
    lines = [*_summary(model), "", *tree_lines(model), "", *_limit_table(model)]
    lines += ["", "loops", *loops] if loops else []
    lines += ["", str(report).splitlines()[0] + ("" if not report.findings else f"; see: ada check {options.robot}")]
    print("\n".join(lines))
    return 0


# --- tree, masses and limits ------------------------------------------------------------------------------------------
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


# --- loops ------------------------------------------------------------------------------------------------------
def loops_section(model: Model, guess: Array | None = None) -> list[str]:
    """Loops, mobility, redundancy, motors and unique joint forces; loops are closed from the guess."""
    lines = [_loop_text(model, loop) for loop in model.loops.values()]
    if not lines:
        return []
    try:
        return [*lines, *_constraint_text(constraint_report(model, guess))]
    except (AdaError, ArithmeticError) as problem:  # the loops themselves are still shown
        return [*lines, str(problem)]


def _loop_text(model: Model, loop: LoopJoint) -> str:
    about = f" {axis_text(loop.axis)}" if loop.type.axes else ""
    count = next(len(one.rows) for one in model.tree.loops if one.name == loop.name)
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
