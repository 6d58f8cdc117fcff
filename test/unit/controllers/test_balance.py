# SPDX-License-Identifier: Apache-2.0
"""Balance of HOAP-2: the document's laws as printed, axes of its joints, and both strategies under their pushes."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_controllers import JointReference, State
from ada_controllers.balance import JOINTS, Balance, share

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def standing() -> ada.Model:
    return ada.load("hoap2_standing")


def told(controller: Balance, x: Array, rate: Array) -> Array:
    """Efforts of joints 1 to 10 for their angles and rates, after a reset at the zero pose."""
    order = [controller.joints.index(name) for name in JOINTS]
    q, v = np.zeros(10), np.zeros(10)
    q[controller.q_index[order]], v[controller.v_index[order]] = x, rate
    controller.reset(State(np.zeros(10), np.zeros(10)), 0.0)
    effort = controller.update(State(q, v), None, 0.001).effort
    assert effort is not None
    return effort[order]


def plain(standing: ada.Model, **settings: Any) -> Balance:
    """Without weight; the variable gains hardly change at the angles of the tests."""
    return Balance(standing, {"carry_weight": False, "full_angle": 1.5, **settings})


SMALL = np.array([1.0, -2.0, 1.5, -1.0, 0.5, 1.0, 2.0, -1.0, 2.0, -0.5]) * 1e-3
RATES = np.array([0.1, -0.2, 0.15, -0.1, 0.05, 0.12, 0.2, -0.3, 0.25, -0.05])


def test_springs_are_those_of_section_6_3_1(standing: ada.Model) -> None:
    kp = np.array([0.3, 1.5, 1.5, 0.3, 1.5, 0.3, 1.5, 1.5, 0.3, 1.5])
    kd = np.array([0.03, 1.5, 1.5, 0.03, 1.5, 0.03, 1.5, 1.5, 0.03, 1.5])
    efforts = told(plain(standing, strategy="springs"), SMALL, RATES)
    assert efforts == pytest.approx(-kp * SMALL - kd * RATES, abs=1e-6)


def test_dampers_have_grown_to_the_printed_bounds_at_the_full_angle(standing: ada.Model) -> None:
    controller = Balance(standing, {"strategy": "springs", "carry_weight": False, "full_angle": 0.2})
    x = np.zeros(10)
    x[[0, 5]] = 0.3  # both hips about z: the upper body turns by as much
    found = told(controller, x, RATES) - told(controller, x, np.zeros(10))
    kd = np.array([0.5, 1.5, 1.5, 3.5, 1.5, 0.5, 1.5, 1.5, 3.5, 1.5])
    assert found == pytest.approx(-kd * RATES, abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 0.05, -0.12, 0.29, -0.4])
def test_gains_follow_the_quintic_spline_over_the_turn(angle: float) -> None:
    x = min(abs(angle) / 0.3, 1.0)
    assert share(angle, 0.3) == pytest.approx(x**3 * (10.0 - 15.0 * x + 6.0 * x * x), abs=1e-14)


def test_upper_body_rotation_moves_the_right_ankle_against_the_left_one(standing: ada.Model) -> None:
    efforts = told(plain(standing, strategy="upper_body_rotation"), SMALL, RATES)
    assert efforts[3] == pytest.approx(-(5.0 * SMALL[8] + 0.5 * RATES[8]), abs=1e-12)
    assert efforts[[2, 7]] == pytest.approx(-5.0 * SMALL[[2, 7]] - 0.5 * RATES[[2, 7]], abs=1e-12)


def test_combined_strategy_drives_the_left_ankle_along_the_null_space(standing: ada.Model) -> None:
    controller = plain(standing, strategy="combined")
    own = controller.ankle_hip
    upper = own.m2 * own.lg2
    ratio = -upper / (own.m1 * own.lg1 + (own.mh + own.m2) * own.l1 + upper)
    efforts = told(controller, SMALL, RATES)
    wanted = 50.0 * (ratio * RATES[7] - 0.5 * (RATES[8] + RATES[3])) - 0.5 * SMALL[8] - 0.05 * RATES[8]
    assert efforts[8] == pytest.approx(wanted, rel=1e-3)  # the angles of the test are small, not zero
    others = [i for i in range(10) if i != 8]
    assert efforts[others] == pytest.approx(-0.5 * SMALL[others] - 0.05 * RATES[others], abs=1e-12)


def after_turns(controller: Balance, yaws: tuple[float, ...], rate: Array) -> Array:
    """Efforts of joints 1 to 10 for rates at the last of some turns of the upper body, 0.4 s apart."""
    order = [controller.joints.index(name) for name in JOINTS]
    controller.reset(State(np.zeros(10), np.zeros(10)), 0.0)
    controller.update(State(np.zeros(10), np.zeros(10)), JointReference(np.zeros(10)), 0.0)
    told = np.zeros(10)
    for i, yaw in enumerate(yaws):
        q, v = np.zeros(10), np.zeros(10)
        q[controller.q_index[[order[0], order[5]]]], v[controller.v_index[order]] = yaw, rate
        effort = controller.update(State(q, v), None, 0.4 * (i + 1)).effort
        assert effort is not None
        told = effort[order]
    return told


SOFT = np.full(10, 0.03)
STIFF_FROM_ZERO = np.array([0.0, 1.5, 1.5, 0.0, 1.5, 0.0, 1.5, 1.5, 0.0, 1.5])


@pytest.mark.parametrize(
    ("yaws", "damping"),
    [
        ((0.0,), SOFT),  # standing: the next push may come
        ((0.1, 0.3, 0.0), SOFT),  # turned, but only now seen to turn back
        ((0.1, 0.3, 0.2, 0.0), STIFF_FROM_ZERO),  # turns back: recovery
        ((0.1, 0.3, 0.2, -0.1, 0.0), STIFF_FROM_ZERO),  # and swings over
        ((0.1, 0.3, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0), SOFT),  # more than a second at rest
    ],
)
def test_recovery_begins_where_the_upper_body_turns_back(
    standing: ada.Model, yaws: tuple[float, ...], damping: Array
) -> None:
    controller = Balance(standing, {"strategy": "springs", "phases": "two", "carry_weight": False})
    assert after_turns(controller, yaws, RATES) == pytest.approx(-damping * RATES, abs=1e-12)
