# SPDX-License-Identifier: Apache-2.0
"""Check of the loops of a robot: closure, mobility, redundant constraints, singular start configuration and motors."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.report import LARGEST, ConstraintReport, constraint_report
from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import Description
from ada_dynamics.model.model import Model
from ada_dynamics.robots.check.bodies import crosses
from ada_dynamics.robots.check.report import CheckReport, Finding, listed


def loop_findings(model: Model, robot: Description, guess: Array | None, report: CheckReport) -> list[Finding]:
    """Return the findings of a report, extended by those on the loops.

    Args:
        model: the model of the description.
        robot: the description, for file names and lines.
        guess: configuration from which the loops are closed; the neutral one by default.
        report: findings on the description.
    """
    locations = _LoopLocations(robot)
    rigid = [loop.name for loop in model.tree.loops if loop.parent == loop.child]
    if rigid:
        message = "the links that it joins are rigidly connected already."
        fix = "Remove it, or name links that can move relative to each other."
        found = [locations.finding("rigid-loop", "error", [name], message, fix) for name in rigid]
        return [*report.findings, *found]
    if model.nv > LARGEST:
        message = f"the model has {model.nv} velocities; the rank of the loop constraints is computed up to {LARGEST}."
        return [*report.findings, locations.finding("loops-not-checked", "note", model.loop_names, message)]
    try:
        facts = constraint_report(model, guess)
    except ModelError as problem:
        message = str(problem).removeprefix(f"model {model.name!r}").lstrip(":, ")
        return [*report.findings, locations.finding("loop-open", "error", model.loop_names, message)]
    return [
        *_held_by_loops(report.findings, robot, facts),
        *_mobility_findings(facts, locations),
        *_redundancy_findings(facts, locations),
        *_singularity_findings(facts, locations),
        *_motor_findings(facts, robot, report, locations),
    ]


class _LoopLocations:
    """File and line of each loop, for findings."""

    def __init__(self, robot: Description) -> None:
        self._robot = robot
        self._loops = {loop.name: loop for loop in robot.loops}

    def finding(
        self, code: str, severity: str, loops: Sequence[str], message: str, fix: str = "", where: str = ""
    ) -> Finding:
        """Return a finding on some loops, located at the first one."""
        first = self._loops[loops[0]]
        name = where or f"loop{'s' if len(loops) > 1 else ''} {listed(loops, repr)}"
        if first.file == self._robot.file:
            return Finding(code, severity, name, message, fix, first.line)
        return Finding(code, severity, f"{first.place}: {name}", message, fix)


def _held_by_loops(findings: Sequence[Finding], robot: Description, facts: ConstraintReport) -> list[Finding]:
    """Downgrade errors on joints without inertia in the tree where the loop constraints determine their motion.

    Joints of the massless link of a universal joint are no finding at all.
    """
    if not facts.resists_all_motions:
        return list(findings)
    of_crosses = {one.where for pair in crosses(robot.links, robot.joints, robot.loops).values() for one in pair}
    kept = []
    for finding in findings:
        if finding.code == "singular":
            if finding.where in of_crosses:
                continue
            message = "no inertia resists its motion in the spanning tree; the loop constraints determine it."
            finding = Finding("held-by-loops", "note", finding.where, message, line=finding.line)
        kept.append(finding)
    return kept


def _mobility_findings(facts: ConstraintReport, locations: _LoopLocations) -> list[Finding]:
    model = facts.analysis.constraints.model
    if facts.analysis.mobility == 0:
        message = f"they allow no motion: {facts.analysis.rank} independent constraints on {model.nv} joint velocities."
        fix = "Remove a loop, or use joint types with more degrees of freedom, such as spherical."
        return [locations.finding("locked", "warning", model.loop_names, message, fix)]
    found = []
    pairs = [{joint.name for joint in pair} for pair in crosses(model.links.values(), model.joints.values()).values()]
    # Planar mechanisms move one axis of a universal joint only; the second axis compensates for misalignment.
    spare = {name for pair in pairs for name in pair if not pair <= set(facts.held)}
    for name in facts.held:
        if name in spare:
            continue
        message = "the loop constraints allow it no motion."
        fix = "Make it fixed, or use loop joints with more degrees of freedom."
        found.append(locations.finding("locked-joint", "warning", model.loop_names, message, fix, f"joint {name!r}"))
    return found


def _redundancy_findings(facts: ConstraintReport, locations: _LoopLocations) -> list[Finding]:
    """Trivial constraints, one finding for all loops with the same ones, and dependent constraints."""
    analysis, found = facts.analysis, []
    alike: dict[str, list[str]] = {}
    for loop, kinds in facts.trivial.items():
        alike.setdefault(", ".join(kinds), []).append(loop)
    for shown, loops in alike.items():
        message = f"redundant constraints without effect on the motion: {shown}. Their forces are not unique."
        found.append(locations.finding("redundant", "note", loops, message))
    if analysis.redundant:
        chosen = {analysis.constraints.rows[c][0] for c in (*analysis.independent, *analysis.redundant)}
        loops = [name for name in analysis.constraints.model.loop_names if name in chosen]
        acting = len(analysis.independent) + len(analysis.redundant)
        message = (
            f"redundant: of {acting} constraints, {acting - analysis.rank} depend on the others. Accelerations are "
            "unique, some constraint forces are not."
        )
        found.append(locations.finding("redundant", "note", loops, message))
    return found


def _singularity_findings(facts: ConstraintReport, locations: _LoopLocations) -> list[Finding]:
    state, loops = facts.state, facts.analysis.constraints.model.loop_names
    if not state.is_singular:
        return []
    which = "the zero configuration" if facts.start_is_closed else "the closed configuration nearest to zero"
    message = (
        f"{which} is singular: the mobility is {state.mobility} instead of {facts.analysis.mobility}, and the motion "
        "from rest is not uniquely determined."
    )
    return [locations.finding("singular-pose", "warning", loops, message, "Start from another configuration.")]


def _motor_findings(
    facts: ConstraintReport, robot: Description, report: CheckReport, locations: _LoopLocations
) -> list[Finding]:
    motors, model = facts.motors, facts.analysis.constraints.model
    if motors.mobility == 0 or any(finding.code == "motors-not-named" for finding in report.findings):
        return []
    where, found = f"robot {model.name!r}", []
    if motors.undriven:
        message = (
            f"under-actuated: {motors.velocities} motors ({listed(motors.joints)}) drive {motors.driven} of "
            f"{motors.mobility} degrees of freedom; joint {motors.undriven!r} can move while all motors are at rest."
        )
        fix = "Name all actuated joints: `actuated: [...]`."
        found.append(locations.finding("under-actuated", "warning", model.loop_names, message, fix, where))
    if motors.surplus > 0:
        how = "" if robot.actuated else "; all joints, as none is named"
        message = (
            f"over-actuated: {motors.velocities} motors ({listed(motors.joints)}{how}) drive {motors.driven} of "
            f"{motors.mobility} degrees of freedom, so {motors.surplus} of their efforts can be chosen freely."
        )
        fix = "" if robot.actuated else 'Name the motors: `actuated: [...]`, or actuated="false" on a <joint>.'
        found.append(locations.finding("over-actuated", "note", model.loop_names, message, fix, where))
    return found
