# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a mechanism holds together at every joint and loop."""

import numpy as np
import pytest

from ada_dynamics.model.model import link_poses
from ada_dynamics.robots import mechanisms

NEAR = 1e-3  # [m]
DRAWN = ("delta", "hexa", "cassie_leg")
CASES = {name: getattr(mechanisms, name) for name in DRAWN} | {
    f"stewart_at_{z}": lambda z=z: mechanisms.stewart(position=(0.0, 0.0, z)) for z in (0.5, 0.7, 0.85)
}


def outside(shape, points):
    """How far points are outside of a shape, at least, (n,)."""
    x = np.abs((points - shape.xyz) @ shape.rotation)
    if shape.kind == "sphere":
        return np.linalg.norm(x, axis=1) - shape.size[0]
    if shape.kind == "cylinder":
        return np.maximum(np.hypot(x[:, 0], x[:, 1]) - shape.size[0], x[:, 2] - 0.5 * shape.size[1])
    return np.max(x - 0.5 * np.array(shape.size), axis=1)


def core(shape):
    """Points along the middle lines of a shape."""
    sizes = {"sphere": np.zeros(3), "cylinder": [0.0, 0.0, shape.size[-1]]}.get(shape.kind, shape.size)
    lines = [np.linspace(-0.5, 0.5, 401)[:, None] * line for line in np.diag(sizes)]
    return shape.xyz + np.concatenate(lines) @ shape.rotation.T


def gap(model, poses, one, other):
    """Distance from the shapes of a link to the middles of those of another."""
    (R, p), (S, r) = poses[one], poses[other]
    points = np.concatenate([core(shape) for shape in model.links[other].visuals]) @ S.T + r
    return min(float(outside(shape, (points - p) @ R).min()) for shape in model.links[one].visuals)


@pytest.mark.parametrize("name", CASES)
def test_links_that_are_joined_are_drawn_touching(name):
    model, q = CASES[name]()
    poses = link_poses(model, q)
    joined = [j for j in (*model.joints.values(), *model.loops.values()) if j.kind != "floating"]
    for joint in joined:
        pair = (joint.parent, joint.child)
        assert min(gap(model, poses, *pair), gap(model, poses, *pair[::-1])) < NEAR, joint.name
