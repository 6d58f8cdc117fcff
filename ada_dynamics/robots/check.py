# SPDX-License-Identifier: Apache-2.0
"""Check a robot description with its loops: whether they close, what they leave to move, which are redundant."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.report import LARGEST, ConstraintReport, constraint_report
from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import Base, Description
from ada_dynamics.model.model import Model
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.lint.bodies import crosses
from ada_dynamics.robots.lint.description import check as check_description
from ada_dynamics.robots.lint.report import Finding, Report, in_order, listed
from ada_dynamics.robots.load import Source, find_robot, to_model
from ada_dynamics.robots.readers.loops import LoopSource


def check(
    source: Source,
    base: Base | None = None,
    mappings: Mapping[str, object] | None = None,
    loops: LoopSource | None = None,
) -> Report:
    """Report what is wrong or odd in a robot description.

    Errors are what makes the results wrong or impossible, warnings what is probably a mistake. A description without
    errors can be loaded, and its loops close.

    Example::

        print(check("robot.urdf"))
        print(check("four_bar.urdf", loops="four_bar.loops.yaml"))

    Args:
        source: as for `load`: name in the catalogue, path of a file, or its text.
        base: "fixed", or "floating" where the root link moves as well; by default fixed, or as the catalogue has it.
        mappings: values for the <xacro:arg>s of a xacro file.
        loops: more joints that close loops, as for `load`.

    Raises:
        InputError: an argument is unusable.
        ModelError: there is no such file. What is wrong inside a file is in the report.
    """
    report = check_description(source, base, mappings, loops)
    if any(finding.code != "singular" for finding in report.errors):
        return report  # there is no model to look at
    document, robot = find_robot(source, base, mappings=mappings, loops=loops)
    if not robot.loops:
        return report
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in the findings
        model = to_model(document, robot, base)
        found = _findings(model, robot, start_of(source), report)
    return Report(report.source, report.robot, in_order(found), report.left_out)


def _findings(model: Model, robot: Description, guess: Array | None, report: Report) -> list[Finding]:
    """Those of the report, and those about the loops."""
    places = _Places(robot)
    rigid = [loop.name for loop in model.tree.loops if loop.parent == loop.child]
    if rigid:
        message = "the links that it joins are fixed to each other already."
        fix = "Remove it, or name links that move against each other."
        found = [places.finding("rigid-loop", "error", [name], message, fix) for name in rigid]
        return [*report.findings, *found]
    if model.nv > LARGEST:
        message = f"with {model.nv} velocities the model is too large to look at the rank of its loops."
        return [*report.findings, places.finding("loops-not-checked", "note", model.loop_names, message)]
    try:
        seen = constraint_report(model, guess)
    except ModelError as problem:
        message = str(problem).removeprefix(f"model {model.name!r}").lstrip(":, ")
        return [*report.findings, places.finding("loop-open", "error", model.loop_names, message)]
    return [
        *_held_by_loops(report.findings, robot, seen),
        *_mobility_findings(seen, places),
        *_redundancy_findings(seen, places),
        *_pose_findings(seen, places),
        *_motor_findings(seen, robot, report, places),
    ]


class _Places:
    """Where loops are written, for findings."""

    def __init__(self, robot: Description) -> None:
        self._robot = robot
        self._loops = {loop.name: loop for loop in robot.loops}

    def finding(
        self, code: str, severity: str, loops: Sequence[str], message: str, fix: str = "", where: str = ""
    ) -> Finding:
        """A finding about some loops, at the line of the first one."""
        first = self._loops[loops[0]]
        name = where or f"loop{'s' if len(loops) > 1 else ''} {listed(loops, repr)}"
        if first.file == self._robot.file:
            return Finding(code, severity, name, message, fix, first.line)
        return Finding(code, severity, f"{first.place}: {name}", message, fix)


# --- the rules --------------------------------------------------------------------------------------------------
def _held_by_loops(findings: Sequence[Finding], robot: Description, seen: ConstraintReport) -> list[Finding]:
    """Joints that no inertia of the tree resists: no error where the loops hold them, and usual in a massless cross."""
    if not seen.resists_all_motions:
        return list(findings)
    of_crosses = {one.where for pair in crosses(robot.links, robot.joints, robot.loops).values() for one in pair}
    kept = []
    for finding in findings:
        if finding.code == "singular":
            if finding.where in of_crosses:
                continue
            message = "no inertia that it carries resists its motion; only the loops make it follow the rest."
            finding = Finding("held-by-loops", "note", finding.where, message, line=finding.line)
        kept.append(finding)
    return kept


def _mobility_findings(seen: ConstraintReport, places: _Places) -> list[Finding]:
    model = seen.analysis.constraints.model
    if seen.analysis.mobility == 0:
        message = (
            f"they leave nothing to move: {seen.analysis.rank} independent conditions on {model.nv} joint velocities."
        )
        fix = "Remove a loop, or use types of joints that leave more freedom, such as spherical ones."
        return [places.finding("locked", "warning", model.loop_names, message, fix)]
    found = []
    pairs = [{joint.name for joint in pair} for pair in crosses(model.links.values(), model.joints.values()).values()]
    # A plane mechanism moves one axis of a universal joint only; the other one spares it exact parts.
    spare = {name for pair in pairs for name in pair if not pair <= set(seen.held)}
    for name in seen.held:
        if name in spare:
            continue
        message = "the loops never let it move."
        fix = "Make it fixed, or give the loops joints that leave more freedom."
        found.append(places.finding("locked-joint", "warning", model.loop_names, message, fix, f"joint {name!r}"))
    return found


def _redundancy_findings(seen: ConstraintReport, places: _Places) -> list[Finding]:
    """Conditions that never act, one finding for all loops that are alike, and conditions that follow from others."""
    analysis, found = seen.analysis, []
    alike: dict[str, list[str]] = {}
    for loop, kinds in seen.trivial.items():
        alike.setdefault(", ".join(kinds), []).append(loop)
    for shown, loops in alike.items():
        message = f"redundant conditions, which nothing that moves feels: {shown}. Forces along them are not unique."
        found.append(places.finding("redundant", "note", loops, message))
    if analysis.redundant:
        chosen = {analysis.constraints.rows[c][0] for c in (*analysis.independent, *analysis.redundant)}
        loops = [name for name in analysis.constraints.model.loop_names if name in chosen]
        acting = len(analysis.independent) + len(analysis.redundant)
        message = (
            f"redundant: of {acting} non-trivial constraints, {acting - analysis.rank} depend on the others. "
            "Accelerations are unique, some joint forces are not."
        )
        found.append(places.finding("redundant", "note", loops, message))
    return found


def _pose_findings(seen: ConstraintReport, places: _Places) -> list[Finding]:
    state, loops = seen.state, seen.analysis.constraints.model.loop_names
    if not state.is_singular:
        return []
    which = "the zero pose" if seen.start_is_closed else "the closed pose nearest to zero"
    message = (
        f"{which} is singular: there the loops leave {state.mobility} motions instead of {seen.analysis.mobility}, and "
        "from rest the motion is not determined."
    )
    return [places.finding("singular-pose", "warning", loops, message, "Start from another pose.")]


def _motor_findings(seen: ConstraintReport, robot: Description, report: Report, places: _Places) -> list[Finding]:
    motors, model = seen.motors, seen.analysis.constraints.model
    if motors.mobility == 0 or any(finding.code == "motors-not-named" for finding in report.findings):
        return []
    where, found = f"robot {model.name!r}", []
    if motors.undriven:
        message = (
            f"under-actuated: {motors.velocities} motors ({listed(motors.joints)}) drive {motors.driven} of "
            f"{motors.mobility} motions; with all of them at rest joint {motors.undriven!r} can still move."
        )
        fix = "Name all joints with motors: `actuated: [...]`."
        found.append(places.finding("under-actuated", "warning", model.loop_names, message, fix, where))
    if motors.surplus > 0:
        how = "" if robot.actuated else "; all joints count, as none is named"
        message = (
            f"over-actuated: {motors.velocities} motors ({listed(motors.joints)}{how}) drive {motors.driven} of "
            f"{motors.mobility} motions, so {motors.surplus} of their efforts can be chosen freely."
        )
        fix = "" if robot.actuated else 'Name the motors: `actuated: [...]`, or actuated="false" on a <joint>.'
        found.append(places.finding("over-actuated", "note", model.loop_names, message, fix, where))
    return found
