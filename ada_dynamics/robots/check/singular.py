# SPDX-License-Identifier: Apache-2.0
"""Rule on joints without inertia, for which the joint-space mass matrix is singular and accelerations are undefined.

The articulated-body pass factorizes the mass matrix; joints whose pivot Sᵀ I^A S
vanishes at a generic configuration are reported.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints import Floating
from ada_dynamics.robots.check.bodies import RigidBody, skew
from ada_dynamics.robots.check.report import Collector

# Pivots below this share of those about other axes are rounding errors.
_RELATIVE = 1e-11
_MOST = 1e100  # entry of an inertia
_Z = np.array([0.0, 0.0, 1.0])  # default axis


def check_singular(bodies: list[RigidBody], has_floating_base: bool, out: Collector) -> None:
    """Report joints whose motion no inertia resists, at one generic configuration."""
    rng = np.random.default_rng(7)
    moving = [b for b in bodies if b.parent >= 0 or has_floating_base]
    articulated = {b.index: b.spatial_inertia() for b in moving}
    loaded = {b.index: b.mass > 0.0 or bool(np.any(articulated[b.index])) for b in moving}
    beyond: dict[int, bool] = {b.index: False for b in moving}  # True if a descendant has inertia
    free_bodies: list[RigidBody] = []
    for body in reversed(moving):
        S, X = _motion(body, rng)
        I = articulated[body.index]
        armature = body.joint.armature if body.joint else 0.0
        D = S.T @ I @ S + armature * np.eye(S.shape[1])
        values, vectors = np.linalg.eigh(D)
        # largest inertias about any axis
        scale = np.repeat([np.max(np.diag(I)[:3]), np.max(np.diag(I)[3:])], 3)
        limits = _RELATIVE * np.diag(vectors.T @ (S.T @ (scale[:, None] * S)) @ vectors)
        free = values <= np.maximum(limits, 0.0)
        is_negative = bool((values < -np.maximum(limits, 0.0)).any())  # reported as an impossible inertia
        if free.any() and not is_negative:
            free_bodies.append(body)
        if body.parent in articulated:
            U = I @ S @ vectors[:, ~free]
            with np.errstate(over="ignore", invalid="ignore"):
                rest = _bounded(I - (U / values[~free]) @ U.T)
                articulated[body.parent] = _bounded(articulated[body.parent] + X.T @ rest @ X)
            beyond[body.parent] |= loaded[body.index] or beyond[body.index]
    for body in _independent(free_bodies, moving):
        _report(body, loaded[body.index], beyond[body.index], out)


def _independent(free: list[RigidBody], moving: list[RigidBody]) -> list[RigidBody]:
    """Filter the bodies without inertia: mimic joints count only if their leader and all followers lack inertia."""
    follows = {j.name: j.mimic.joint for b in moving if (j := b.joint) is not None and j.mimic is not None}
    leaders: dict[str, str] = {}
    for name in follows:
        path: dict[str, None] = {}
        while name in follows and name not in leaders and name not in path:
            path[name] = None
            name = follows[name]
        leaders.update(dict.fromkeys(path, leaders.get(name, name)))
    names = {b.joint.name for b in free if b.joint is not None}
    held = {leader for name, leader in leaders.items() if name not in names}
    return [b for b in free if b.joint is None or (b.joint.name not in follows and b.joint.name not in held)]


def _bounded(I: Array) -> Array:
    """Clip an inertia so that its products stay finite; other rules report absurd values."""
    return np.asarray(np.clip(np.nan_to_num(I, nan=_MOST), -_MOST, _MOST))


def _report(body: RigidBody, loaded: bool, beyond: bool, out: Collector) -> None:
    if body.joint is None:
        where, line, what = f"link {body.name!r}", body.links[0][0].line, "the floating base"
    else:
        where, line, what = body.joint.where, body.joint.line, "this joint"
    links = ", ".join(repr(link.name) for link, _, _ in body.links[:4]) + (", ..." if len(body.links) > 4 else "")
    if loaded:
        reason = f"the inertia of link {links} vanishes about its axis"
        fix = "Give the link its moment of inertia about that axis (or the joint an armature)."
    elif beyond:
        reason = f"link {links} has no mass, and the joints beyond it decouple it from all inertia"
        fix = "Give the link a mass and an inertia, or remove the joint."
    else:
        reason = f"link {links} and its descendants have neither mass nor inertia"
        fix = "Give the link a mass and an inertia, or make the joint fixed."
    out.add("singular", "error", where, f"no inertia resists the motion of {what}: {reason}.", fix, line)


def _motion(body: RigidBody, rng: np.random.Generator) -> tuple[Array, Array]:
    """Joint subspace S in the child's frame and motion transform from the parent's frame, (6, 6), at a random q."""
    record = body.joint
    if record is None:
        joint, Q = Floating.aligned(_Z, None, None)
    else:
        axes = [_Z if axis is None else axis / np.linalg.norm(axis) for axis in (record.axis, record.axis2)]
        joint, Q = record.type.aligned(axes[0], axes[1], None, **record.constants)
    q = joint.nearest(rng.uniform(0.1, 1.2, joint.nq).tolist())
    pose = joint.pose(q)
    at = body.rotation @ Q
    R, p = at @ np.array(pose.rotation.matrix()) @ Q.T, body.position + at @ np.array(pose.position)
    S = np.array([[*Q @ np.array(column.angular), *Q @ np.array(column.linear)] for column in joint.subspace(q)]).T
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -R.T @ skew(p)
    return S, X
