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
from ada_dynamics.robots.check.report import Collector, Finding, listed


def check_loops(model: Model, robot: Description, guess: Array | None, out: Collector) -> None:
    """Report findings on the loops.

    Args:
        model: the model of the description.
        robot: the description, for file names and lines.
        guess: configuration from which the loops are closed; the neutral one by default.
        out: findings on the description, to which those on the loops are added.
    """
    findings = _LoopFindings(robot, out)
    rigid = [loop.name for loop in model.tree.loops if loop.parent == loop.child]
    if rigid:
        fix = "Remove it, or name links that can move relative to each other."
        for name in rigid:
            findings.add("rigid-loop", "error", [name], "the links that it joins are rigidly connected already.", fix)
        return
    if model.nv > LARGEST:
        message = f"the model has {model.nv} velocities; the rank of the loop constraints is computed up to {LARGEST}."
        findings.add("loops-not-checked", "note", model.loop_names, message)
        return
    try:
        facts = constraint_report(model, guess)
    except ModelError as problem:
        message = str(problem).removeprefix(f"model {model.name!r}").lstrip(":, ")
        findings.add("loop-open", "error", model.loop_names, message)
        return
    if facts.resists_all_motions:
        _note_held_by_loops(robot, out)
    _check_mobility(facts, findings)
    _check_redundancy(facts, findings)
    if facts.state.is_singular:
        which = "the zero configuration" if facts.start_is_closed else "the closed configuration nearest to zero"
        freedoms = f"the mobility is {facts.state.mobility} instead of {facts.analysis.mobility}"
        message = f"{which} is singular: {freedoms}, and the motion from rest is not uniquely determined."
        findings.add("singular-pose", "warning", model.loop_names, message, "Start from another configuration.")
    if facts.motors.mobility and not any(finding.code == "motors-not-named" for finding in out.findings):
        _check_motors(facts, robot, findings)


class _LoopFindings:
    """Adds findings on some loops, located at the first one."""

    def __init__(self, robot: Description, out: Collector) -> None:
        self._robot, self._out = robot, out
        self._loops = {loop.name: loop for loop in robot.loops}

    def add(self, code: str, severity: str, loops: Sequence[str], message: str, fix: str = "", where: str = "") -> None:
        first = self._loops[loops[0]]
        name = where or f"loop{'s' if len(loops) > 1 else ''} {listed(loops, repr)}"
        if first.file == self._robot.file:
            self._out.add(code, severity, name, message, fix, first.line)
        else:
            self._out.add(code, severity, f"{first.place}: {name}", message, fix)


def _note_held_by_loops(robot: Description, out: Collector) -> None:
    """Downgrade errors on joints without inertia in the tree, as the loop constraints determine their motion.

    Joints of the massless link of a universal joint are no finding at all.
    """
    of_crosses = {one.where for pair in crosses(robot.links, robot.joints, robot.loops).values() for one in pair}
    message = "no inertia resists its motion in the spanning tree; the loop constraints determine it."
    out.findings = [
        Finding("held-by-loops", "note", one.where, message, line=one.line) if one.code == "singular" else one
        for one in out.findings
        if one.code != "singular" or one.where not in of_crosses
    ]


def _check_mobility(facts: ConstraintReport, findings: _LoopFindings) -> None:
    model = facts.analysis.constraints.model
    if facts.analysis.mobility == 0:
        message = f"they allow no motion: {facts.analysis.rank} independent constraints on {model.nv} joint velocities."
        fix = "Remove a loop, or use joint types with more degrees of freedom, such as spherical."
        findings.add("locked", "warning", model.loop_names, message, fix)
        return
    pairs = [{joint.name for joint in pair} for pair in crosses(model.links.values(), model.joints.values()).values()]
    # Planar mechanisms move one axis of a universal joint only; the second axis compensates for misalignment.
    spare = {name for pair in pairs for name in pair if not pair <= set(facts.held)}
    fix = "Make it fixed, or use loop joints with more degrees of freedom."
    for name in facts.held:
        if name not in spare:
            message, where = "the loop constraints allow it no motion.", f"joint {name!r}"
            findings.add("locked-joint", "warning", model.loop_names, message, fix, where)


def _check_redundancy(facts: ConstraintReport, findings: _LoopFindings) -> None:
    """Report trivial constraints, one finding for all loops with the same ones, and dependent constraints."""
    analysis = facts.analysis
    alike: dict[str, list[str]] = {}
    for loop, kinds in facts.trivial.items():
        alike.setdefault(", ".join(kinds), []).append(loop)
    for shown, loops in alike.items():
        message = f"redundant constraints without effect on the motion: {shown}. Their forces are not unique."
        findings.add("redundant", "note", loops, message)
    if analysis.redundant:
        chosen = {analysis.constraints.rows[c][0] for c in (*analysis.independent, *analysis.redundant)}
        loops = [name for name in analysis.constraints.model.loop_names if name in chosen]
        acting = len(analysis.independent) + len(analysis.redundant)
        message = (
            f"redundant: of {acting} constraints, {acting - analysis.rank} depend on the others. Accelerations are "
            "unique, some constraint forces are not."
        )
        findings.add("redundant", "note", loops, message)


def _check_motors(facts: ConstraintReport, robot: Description, findings: _LoopFindings) -> None:
    motors, model = facts.motors, facts.analysis.constraints.model
    where = f"robot {model.name!r}"
    if motors.undriven:
        message = (
            f"under-actuated: {motors.velocities} motors ({listed(motors.joints)}) drive {motors.driven} of "
            f"{motors.mobility} degrees of freedom; joint {motors.undriven!r} can move while all motors are at rest."
        )
        fix = "Name all actuated joints: `actuated: [...]`."
        findings.add("under-actuated", "warning", model.loop_names, message, fix, where)
    if motors.surplus > 0:
        how = "" if robot.actuated else "; all joints, as none is named"
        message = (
            f"over-actuated: {motors.velocities} motors ({listed(motors.joints)}{how}) drive {motors.driven} of "
            f"{motors.mobility} degrees of freedom, so {motors.surplus} of their efforts can be chosen freely."
        )
        fix = "" if robot.actuated else 'Name the motors: `actuated: [...]`, or actuated="false" on a <joint>.'
        findings.add("over-actuated", "note", model.loop_names, message, fix, where)
