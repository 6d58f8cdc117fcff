# SPDX-License-Identifier: Apache-2.0
"""The setups of robots that a controller moves, each with a target that can be dragged or pushes that can be tried."""

from __future__ import annotations

import math

from ada_dynamics.bringup.arguments import Argument, Values
from ada_dynamics.bringup.pa10 import EACH_STEP, EXACT, PA10_CONTROL
from ada_dynamics.bringup.pictures import PICTURES
from ada_dynamics.bringup.processes import Parameter
from ada_dynamics.bringup.setup import ODOM, WORLD, Control, Parameters, Setup, common_arguments

# --- four rods as a closed chain ------------------------------------------------------------------------------------
_FOUR_BAR, _SLIDER_CRANK, _NONE = "parallel_four_bar", "slider_crank", "none"
# Takahashi 2012, secs. 7.2.2 and 7.2.3: where the virtual loops close.
_FOUR_BAR_START = [math.radians(angle) for angle in (60.0, 30.0, 150.0, -60.0)]
_CRANK = math.radians(30.0)
_TIP = "tip"
_FIRST_JOINT = [5.0, 0.0, 0.0, 0.0]  # eqs. 7.11 and 7.12
_ALONG_X = [10.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # eqs. 7.18 and 7.19, the force in front


def _slider_crank_start() -> list[float]:
    """The rod, twice as long as the crank, ends at the height of the crank's pivot; the slider hangs down there."""
    rod = math.acos(-0.5 * math.cos(_CRANK))  # from the vertical
    return [_CRANK, rod - _CRANK, 0.0, math.pi - rod]


def _planar_4r(values: Values) -> Parameters:
    mechanism = values["mechanism"]
    start = _slider_crank_start() if mechanism == _SLIDER_CRANK else list(_FOUR_BAR_START)
    idle = {"idle": Parameter("release")} if mechanism == _NONE and "idle" not in values.given else {}
    return {
        "robot": Parameter("planar_4r"),
        "world_frame": Parameter(WORLD),
        "initial_positions": Parameter(start),
        **EACH_STEP,
        **idle,
    }


def _planar_4r_control(values: Values) -> Control | None:
    mechanism = values["mechanism"]
    if mechanism == _NONE:
        return None
    if mechanism == _FOUR_BAR:
        angle = math.radians(float(values["target"] or 0.0))
        target: Parameters = {"joints": Parameter(["joint_1"]), "positions": Parameter([angle], "target")}
        gains = {"joint_stiffness": _FIRST_JOINT, "joint_damping": _FIRST_JOINT}
    else:
        place = float(values["target"] or 1.49)  # [m] Takahashi 2012, sec. 7.2.3
        target = {"pose": Parameter([place, 0.0, 0.0, 0.0, 0.0, 0.0], "target")}
        gains = {"joint_stiffness": [0.0], "joint_damping": [0.0], "pose_stiffness": _ALONG_X, "pose_damping": _ALONG_X}
    parameters = {
        "controller": Parameter("virtual_closed_chain"),
        "robot": Parameter("planar_4r"),
        **EXACT,
        "virtual_closed_chain.loops": Parameter(f"loops/{mechanism}.yaml", "mechanism"),
        "virtual_closed_chain.link": Parameter(_TIP),
        **{f"virtual_closed_chain.{name}": Parameter(list(gain)) for name, gain in gains.items()},
    }
    return Control(parameters, target, link=_TIP)


# --- HOAP-2 ---------------------------------------------------------------------------------------------------------
_STANDING = "hoap2_standing"
_NO_STRATEGY = "none"
# Without rotors a foot in the air is too light for efforts that change 1000 times a second [kg m^2].
_ROTORS = 0.01
_ANKLE_GAIN = 10.0  # [N m s/rad] of eq. 6.13, for the same reason


def _hoap2(values: Values) -> Parameters:
    if values["feet"] == "clamped":
        return {"robot": Parameter(_STANDING, "feet"), "world_frame": Parameter(WORLD), **EACH_STEP}
    return {
        "robot": Parameter("hoap2_10dof", "feet"),
        "base": Parameter("floating", "feet"),
        "contact": Parameter("on", "feet"),
        "rotor_inertia": Parameter(_ROTORS),
        "world_frame": Parameter(ODOM, "feet"),
        **EACH_STEP,
    }


def _hoap2_control(values: Values) -> Control | None:
    """Its model has its feet on the ground, whether those of the simulated robot may lift or not."""
    if values["strategy"] == _NO_STRATEGY:
        return None
    return Control(
        {
            "controller": Parameter("balance"),
            "robot": Parameter(_STANDING),
            # A robot that is not fixed to the ground has another state; its joints are the same.
            **(EXACT if values["feet"] == "clamped" else {"balance.ankle_gain": Parameter(_ANKLE_GAIN)}),
            "balance.strategy": Parameter(values["strategy"], "strategy"),
        }
    )


def _hoap2_push(values: Values) -> Parameters:
    """The push that the strategy is for in the document (sec. 6.3): at the hand, or from behind at the shoulder."""
    link, direction, force = (
        ("right_shoulder", "x", 10.0) if values["strategy"] == "combined" else ("left_hand", "-x", 7.0)
    )
    return {"push_link": Parameter(link), "push_direction": Parameter(direction), "push_force": Parameter(force)}


CONTROLLED = (
    PA10_CONTROL,
    Setup(
        "closed_chain_control",
        "four rods in a row that a controller lets move as a closed chain",
        (
            Argument(
                "mechanism",
                _FOUR_BAR,
                "what the rods are controlled to be; none: no controller, they fall",
                (_FOUR_BAR, _SLIDER_CRANK, _NONE),
            ),
            Argument(
                "target",
                "",
                "where it goes: angle of the first rod [deg], or place of the slider [m]; empty: 0 deg, 1.49 m",
                kind="real",
            ),
            *common_arguments("hold"),
        ),
        _planar_4r,
        lambda values: PICTURES["closed_chain_control"],
        shorthands={f"virtual_{name}": {"mechanism": name} for name in (_FOUR_BAR, _SLIDER_CRANK)},
        control=_planar_4r_control,
    ),
    Setup(
        "hoap2_balance",
        "the humanoid HOAP-2 that keeps its balance when it is pushed",
        (
            Argument("feet", "clamped", "whether the feet are fixed to the ground, or may lift", ("clamped", "free")),
            Argument(
                "strategy",
                "upper_body_rotation",
                "how it answers a push (Takahashi 2012, sec. 6.3); none: no controller, its servos hold it",
                ("upper_body_rotation", "combined", "springs", _NO_STRATEGY),
            ),
            *common_arguments("hold"),
        ),
        _hoap2,
        lambda values: PICTURES["hoap2_balance"],
        control=_hoap2_control,
        view=_hoap2_push,
    ),
)
