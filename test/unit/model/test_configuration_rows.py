# SPDX-License-Identifier: Apache-2.0
"""Many configurations at once: the same as one after the other, whatever kinds of joints there are."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import InputError

KINDS = ("revolute", "spherical", "prismatic", "planar", "spherical_euler", "cylindrical", "universal")


@pytest.fixture(scope="module")
def model():
    builder, parent = ada.Builder("all_kinds").link("base", 1.0, (0.0, 0.0, 0.0), np.eye(3)), "base"
    for kind in KINDS:
        builder.link(kind, 1.0, (0.0, 0.0, 0.1), np.eye(3))
        axes = {"axis2": (0.0, 1.0, 0.0)} if kind == "universal" else {}
        axis = None if kind.startswith("spherical") else (1.0, 0.0, 0.0)
        builder.joint(f"{kind}_joint", kind, parent, kind, (0.0, 0.0, 0.2), axis=axis, **axes)
        parent = kind
    return builder.build(base="floating")


@pytest.mark.parametrize("count", [0, 1, 9])
def test_rows_move_and_differ_as_each_of_them_does(model, count):
    rng = np.random.default_rng(count)
    q = np.array([model.random_state(rng)[0] for _ in range(count)]).reshape(count, model.nq)
    v = rng.normal(size=(count, model.nv))
    moved = model.integrate(q, v, 0.1)
    assert moved.shape == (count, model.nq)
    assert np.array_equal(moved, np.reshape([model.integrate(a, b, 0.1) for a, b in zip(q, v, strict=True)], q.shape))
    back = model.difference(q, moved)
    assert np.array_equal(back, np.reshape([model.difference(a, b) for a, b in zip(q, moved, strict=True)], v.shape))
    assert np.abs(back - 0.1 * v).max(initial=0.0) < 1e-12


def test_rows_that_do_not_fit_are_refused_by_shape(model):
    q, v = np.tile(model.neutral(), (3, 1)), np.zeros((3, model.nv))
    with pytest.raises(InputError, match=rf"v has shape \(2, {model.nv}\); model 'all_kinds' needs \(3, {model.nv}\)"):
        model.integrate(q, v[:2])
    with pytest.raises(InputError, match=r"q0 has shape \(3, 2\)"):
        model.difference(q[:, :2], q)
