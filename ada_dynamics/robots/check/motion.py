# SPDX-License-Identifier: Apache-2.0
"""Rules on the motion of a model: joints without inertia; closure, mobility, redundancy and motors of its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.algorithms.crba import composite_inertias, mass_matrix
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.algorithms.rnea import gravity_efforts
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closure import initial_configuration
from ada_dynamics.constraints.coordinates import motor_efforts, null_space
from ada_dynamics.constraints.report import LARGEST, ConstraintReport, constraint_report
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.model.description import Description
from ada_dynamics.model.model import Model
from ada_dynamics.robots.check.parts import commanded_joints, crosses
from ada_dynamics.robots.check.report import CheckReport, listed

_ROUNDING = 1e-11  # share of the inertia that a joint carries; less about its own axis is a rounding error
_FACTORIZED, _MOST = 200, 20_000  # velocities up to which the mass matrix is factorized, and its diagonal computed


def check_motion(model: Model, robot: Description, guess: Array | None, out: CheckReport) -> None:
    """Add joints without inertia, and findings on the loops, to those on the description of a model.

    The loops are closed from the guess, by default the neutral configuration.
    """
    facts = _check_loops(model, robot, guess, out) if robot.loops else None
    crossing = {joint.name for pair in crosses(robot.links, robot.joints, robot.loops).values() for joint in pair}
    for name in _unresisted(model) if model.nv <= _MOST else ():
        joint = next((joint for joint in robot.joints if joint.name == name), None)  # None for a floating base
        where, line = (f"link {model.root!r}", None) if joint is None else (joint.where, joint.line)
        if facts is None or not facts.resists_all_motions:
            message = (
                "no inertia resists its motion: the link that it moves and its descendants have none about its axis, "
                "or other joints move all of it as well."
            )
            fix = "Give the link a mass and moments of inertia, give the joint an armature, or make it fixed."
            out.add("singular", "error", where, message, fix, line)
        elif name not in crossing:
            message = "no inertia resists its motion in the spanning tree; the loop constraints determine it."
            out.add("held-by-loops", "note", where, message, "", line)
    if model.floating_joint is None and model.nv <= _FACTORIZED:
        _check_weight(model, facts, out)


def _check_weight(model: Model, facts: ConstraintReport | None, out: CheckReport) -> None:
    """Report motors that cannot hold the robot at rest in its initial configuration."""
    q = np.asarray(initial_configuration(model, None) if facts is None else facts.q)
    efforts = np.array(gravity_efforts(model.tree, q.tolist()), dtype=np.float64)
    if facts is not None:
        constraints = facts.analysis.constraints
        J = constraints.jacobian(q) / constraints.weights[:, None]
        try:
            efforts = motor_efforts(model, null_space(J, facts.analysis.mobility).basis(), efforts)
        except InputError:  # under-actuated, which is a finding of its own
            return
    needed = {name: float(np.max(np.abs(efforts[model.v_index(name)]))) for name in model.actuated}
    limits = {name: model.joints[name].limits.effort for name in needed}
    weak = [f"{name} {needed[name]:.3g} of {limits[name]:g}" for name in needed if needed[name] > limits[name] > 0.0]
    if weak:
        message = f"its motors cannot hold its weight in the initial configuration: {listed(weak)} [N m, N]."
        out.add("weak-motors", "warning", f"robot {model.name!r}", message, "Correct the effort limits or the masses.")


def _unresisted(model: Model) -> list[str]:
    """Joints without inertia, for which the mass matrix is singular at a generic configuration.

    The mass matrix is factorized from the leaves to the root; the pivots of such joints vanish. In large models only
    the diagonal entries are compared with zero.
    """
    tree, found = model.tree, dict[str, None]()
    q = model.random_state(np.random.default_rng(7))[0].tolist()
    pivots, least, owners = np.zeros(tree.nv), np.zeros(tree.nv), [""] * tree.nv
    for body, whole in zip(tree.bodies, composite_inertias(tree, transforms(tree, q)), strict=True):
        largest, square = max(whole.about_origin[i][i] for i in range(3)), body.multiplier**2
        for k, s in enumerate(body.joint.subspace(body.positions(q)), start=body.v.start):
            size = largest * sum(x * x for x in s.angular) + whole.mass * sum(x * x for x in s.linear)
            least[k] = max(least[k], _ROUNDING * square * size)
            pivots[k] += square * (s @ (whole @ s) + body.armature)
            if model.joints[body.name].mimic is None:
                owners[k] = body.name
    M = np.array(mass_matrix(tree, q).dense(), dtype=float) if 0 < tree.nv <= _FACTORIZED else None
    for i in reversed(range(tree.nv)):
        if abs(pivots[i] if M is None else M[i, i]) <= least[i]:
            found[owners[i]] = None
        elif M is not None:  # negative pivots are reported as an impossible inertia
            M[:i, :i] -= np.outer(M[:i, i], M[i, :i]) / M[i, i]
    return list(found)


@dataclass
class _LoopFindings:
    """Adds findings on some loops, located at the first one."""

    robot: Description
    out: CheckReport

    def add(self, code: str, severity: str, loops: Sequence[str], message: str, fix: str = "", where: str = "") -> None:
        first = next(loop for loop in self.robot.loops if loop.name == loops[0])
        name, line = where or f"loop{'s' if len(loops) > 1 else ''} {listed(loops, repr)}", first.line
        if first.file != self.robot.file:
            name, line = f"{first.location}: {name}", None
        self.out.add(code, severity, name, message, fix, line)


def _check_loops(model: Model, robot: Description, guess: Array | None, out: CheckReport) -> ConstraintReport | None:
    """Report findings on the loops; return their properties, or None if the loops do not close."""
    findings = _LoopFindings(robot, out)
    rigid = [loop.name for loop in model.tree.loops if loop.parent == loop.child]
    fix = "Remove it, or name links that can move relative to each other."
    for name in rigid:
        findings.add("rigid-loop", "error", [name], "the links that it joins are rigidly connected already.", fix)
    if rigid:
        return None
    if model.nv > LARGEST:
        message = f"the model has {model.nv} velocities; the rank of the loop constraints is computed up to {LARGEST}."
        findings.add("loops-not-checked", "note", model.loop_names, message)
        return None
    try:
        facts = constraint_report(model, guess)
    except ModelError as problem:
        message = str(problem).removeprefix(f"model {model.name!r}").lstrip(":, ")
        findings.add("loop-open", "error", model.loop_names, message)
        return None
    _check_mobility(facts, findings)
    _check_redundancy(facts, findings)
    if facts.state.is_singular:
        which = "the zero configuration" if facts.start_is_closed else "the closed configuration nearest to zero"
        freedoms = f"the mobility is {facts.state.mobility} instead of {facts.analysis.mobility}"
        message = f"{which} is singular: {freedoms}, and the motion from rest is not uniquely determined."
        findings.add("singular-pose", "warning", model.loop_names, message, "Start from another configuration.")
    if facts.motors.mobility and not any(finding.code == "motors-not-named" for finding in out.findings):
        _check_motors(facts, robot, findings)
    return facts


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
    for loop, kinds in facts.analysis.trivial_names().items():
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
    if motors.idle_rotations:
        links, changes = list(motors.idle_rotations), list(motors.idle_rotations.values())
        message = (
            f"idle rotation: the motors ({listed(motors.joints)}) drive all motions except rotations of link"
            f"{'s' if len(links) > 1 else ''} {listed(links, repr)} alone, such as that of a rod about the line through"
            " its two ball joints. Inverse dynamics and controllers need a motion that the motors determine."
        )
        joints, balls = ([name for name, axes in changes if bool(axes) == is_ball] for is_ball in (False, True))
        types = ", ".join(f"UJOINT_{axes}" for _, axes in changes if axes)
        lines = [f"`locked: [{', '.join(joints)}]`"] if joints else []
        lines += [f"`joint_name: [{', '.join(balls)}]` and `joint_type: [{types}]`"] if balls else []
        how = "Make a ball joint of each link universal" if balls else "Fix one joint of each link"
        fix = f"{how}: {' and '.join(lines)} in the file of the loops."
        findings.add("idle-rotation", "warning", model.loop_names, message, fix, where)
    elif motors.undriven:
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
        names = listed(commanded_joints(robot)) or "..."
        fix = "" if robot.actuated else f'Name the motors: `actuated: [{names}]`, or actuated="false" on a <joint>.'
        findings.add("over-actuated", "note", model.loop_names, message, fix, where)
