# SPDX-License-Identifier: Apache-2.0
"""The sentences that users of controllers see most: what is wrong, what is allowed, and the fix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_controllers import JointReference, State, make
from ada_controllers import pa10_kinematics as pa10
from ada_controllers.running.control_loop import ControlLoop
from ada_dynamics.errors import AdaError

BENT, REST = np.array([0.1, 0.7, 0.0, 0.8, 0.0, 0.3, 0.0]), np.zeros(7)


@pytest.mark.parametrize(
    ("law", "settings", "sentence"),
    [
        ("computed_torqe", {}, r"'computed_torqe'.*Did you mean 'computed_torque'"),
        ("computed_torque", {"stifness": [1.0]}, r"'stifness'.*Did you mean 'stiffness'"),
        ("computed_torque", {"stiffness": [1.0, 2.0]}, r"stiffness has 2 numbers; give 1 or 7 numbers: one for all"),
        ("impedance", {"space": "hand"}, r"space is 'hand'; it must be one of 'joints', 'link'"),
        ("compliance", {"contact_stiffness": 3e5}, r"unstable above 2e\+05 N/m. Reduce gain, period or filter_time"),
        (
            "reaction_null_space",
            {"support": "link_3"},
            r"Choose the root '\w+', or load the robot with base='floating'",
        ),
        ("virtual_closed_chain", {}, r"no closed chain exists.*Set loops to a file of virtual loops"),
    ],
)
def test_a_controller_that_cannot_be_made_says_what_to_change(
    pa10: ada.Model, law: str, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(AdaError, match=sentence):
        make(law, pa10, settings)


def test_refused_states_references_and_activations_say_what_is_wrong(pa10: ada.Model) -> None:
    controller = make("computed_torque", pa10)
    with pytest.raises(AdaError, match=r"no state of the robot received yet\. Start its publisher"):
        ControlLoop(controller).activate(0.0)
    with pytest.raises(AdaError, match=r"call reset\(state, time\) before the first update"):
        controller.update(State(BENT, REST), None, 0.0)
    controller.reset(State(BENT, REST), 0.0)
    with pytest.raises(AdaError, match=r"the position of joint 's1' is \[nan\]; it must be finite"):
        controller.update(State(np.nan * BENT, REST), None, 0.1)
    with pytest.raises(AdaError, match=r"joint 's2': position is 9, outside of \[-1.64"):
        controller.update(State(BENT, REST), JointReference(np.array([0.0, 9.0, *REST[2:]])), 0.1)


def test_a_pose_out_of_reach_says_by_how_much() -> None:
    with pytest.raises(AdaError, match=r"1.11 m too far; its distance must be 0\.03 to 0\.93 m"):
        pa10.inverse(np.diag([1.0, 1.0, 1.0, 1.0]) + 2.0 * np.eye(4, k=3))
