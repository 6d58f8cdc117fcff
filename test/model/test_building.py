# SPDX-License-Identifier: Apache-2.0
"""What is built large leaves Python as it was."""

import gc

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import ModelError
from ada_dynamics.model import Builder


@pytest.mark.parametrize("is_on", [True, False])
def test_the_search_for_garbage_is_as_before_after_success_and_failure(is_on):
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        ada.Dynamics(ada.chain_3d(70)).forward(*[[0.0] * 70] * 3)
        assert gc.isenabled() == is_on
        with pytest.raises(ModelError, match="no links"):
            Builder("empty").build()
        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()


LARGE = 1.7e308  # the largest numbers are finite; the sum of two is not


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    ("values", "said"),
    [
        (lambda x: {"xyz": (LARGE, LARGE, x)}, "xyz of joint 'j'"),
        (lambda x: {"axis": (0.0, 1.0, x)}, "axis of joint 'j'"),
        (lambda x: {"rotation": [[1.0, 0.0, 0.0], [0.0, 1.0, x], [0.0, 0.0, 1.0]]}, "rotation of joint 'j'"),
        (lambda x: {"damping": x}, "damping of joint 'j'"),
        (lambda x: {"stiffness": 1.0, "rest": x}, "rest of joint 'j'"),
        (lambda x: {"rest": x}, "rest of joint 'j'"),
    ],
)
def test_a_joint_with_a_number_that_is_none_is_refused_by_name(values, said, bad):
    with pytest.raises(ModelError, match=said):
        Builder("r").joint("j", "revolute", "a", "b", **values(bad))


def test_finite_numbers_are_taken_even_where_their_sum_is_not_finite():
    link = Builder("r").link("a", com=(LARGE, LARGE, 0.0)).build().links["a"]
    assert link.com.tolist() == [LARGE, LARGE, 0.0]


def test_what_a_model_was_built_from_can_be_changed_afterwards():
    xyz, rotation, inertia = [0.0, 0.0, 1.0], [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [1.0, 1.0, 1.0]
    given = [np.array(x) for x in (xyz, rotation, inertia)]
    robot = Builder("r").link("a").link("b", 1.0, inertia=given[2])
    robot.joint("j", "revolute", "a", "b", given[0], rotation=given[1])
    for array in given:
        array[:] = 7.0
    model = robot.build()
    joint, link = model.joints["j"], model.links["b"]
    assert (joint.xyz.tolist(), joint.rotation.tolist(), np.diag(link.inertia).tolist()) == (xyz, rotation, inertia)
    assert not any(x.flags.writeable for x in (joint.xyz, joint.rotation, joint.axis, link.com, link.inertia))
