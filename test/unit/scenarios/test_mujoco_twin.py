# SPDX-License-Identifier: Apache-2.0
"""The twin in MuJoCo: same coordinates, same weight on the ground, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada

pytest.importorskip("mujoco")

from ada_experiments.mujoco_twin import Twin

Array = NDArray[np.float64]
CORNERS = [(x, y, 0.0) for x in (-0.05, 0.05) for y in (-0.04, 0.04)]


def swinging_box() -> ada.Model:
    builder = ada.Builder("box").link("box", 1.0, (0.0, 0.0, 0.05), (2e-3, 3e-3, 4e-3, 1e-4, 2e-4, 3e-4))
    builder.link("arm", 0.2, (0.02, 0.0, 0.05), (1e-3, 1e-3, 2e-4))
    builder.joint("shoulder", "revolute", "box", "arm", (0.0, 0.01, 0.1), axis=(0.0, 1.0, 0.0), armature=1e-3)
    return builder.build(base="floating")


def no_control(t: float, q: Array, v: Array) -> Array:
    return np.zeros(7)


def test_a_throw_in_the_air_is_the_same_in_both() -> None:
    model = swinging_box()
    q = model.integrate(model.neutral(), np.array([0.0, 0.0, 5.0, 0.4, -0.3, 0.8, 0.5]))
    v = np.array([0.3, -0.2, 0.5, 0.6, -0.9, 0.7, 1.5])
    wanted = ada.Simulation(model, q=q, v=v, integrator="dop853").run(0.2)
    off = []
    for step in (4e-4, 1e-4):
        motion = Twin(model, {"box": CORNERS}, step).run(q, v, no_control, 0.2, step)
        assert np.allclose(motion.q[0], q, atol=1e-12)
        assert np.allclose(motion.v[0], v, atol=1e-12)
        off.append(np.abs(motion.q[-1] - wanted.q[-1]).max())
    assert off[1] < 1e-3
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.2)


@pytest.mark.parametrize("friction", [0.3, 0.1])
def test_force_of_the_ground_stays_in_its_cone_and_reaches_it(friction: float) -> None:

    def swing(t: float, q: Array, v: Array) -> Array:
        return np.concatenate([np.zeros(6), [1.5 * np.sin(40.0 * t)]])

    model = swinging_box()
    twin = Twin(model, {"box": CORNERS}, 1e-3, friction=friction)
    force = twin.run(model.neutral(), np.zeros(7), swing, 0.5, 1e-3).forces["box"]
    pressing = force[:, 2] > 0.1
    across = np.linalg.norm(force[pressing, :2], axis=1) / force[pressing, 2]
    assert across.max() == pytest.approx(friction, rel=0.02)
