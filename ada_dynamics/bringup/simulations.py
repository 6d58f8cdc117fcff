# SPDX-License-Identifier: Apache-2.0
"""The setups of robots that swing, stand or are held: a simulation, and what shows it."""

from __future__ import annotations

import math

from ada_dynamics.bringup.arguments import Argument, Values
from ada_dynamics.bringup.pictures import PICTURES
from ada_dynamics.bringup.processes import Parameter
from ada_dynamics.bringup.setup import ODOM, WORLD, Parameters, Setup, common_arguments

_BASE = Argument("base", "floating", "how the trunk is held: not at all, or in the air", ("floating", "fixed"))
_CONTACT = Argument(
    "contact", "auto", "whether feet touch a ground at height 0; auto: where the robot can fall", ("auto", "on", "off")
)


def _pa10(values: Values) -> Parameters:
    bent = [0.0, math.pi / 4, 0.0, 0.0, 0.0, 0.0, 0.0]  # [rad] upright it would stand for ever
    start = {} if values["robot"] == "pa10_thesis" else {"initial_positions": Parameter(list(bent))}
    return {"robot": Parameter(values["robot"], "robot"), "world_frame": Parameter(WORLD), **start}


def _humanoid(values: Values, robot: Parameter) -> Parameters:
    return {
        "robot": robot,
        "base": Parameter(values["base"], "base"),
        "contact": Parameter(values["contact"], "contact"),
        "world_frame": Parameter(ODOM if values["base"] == "floating" else WORLD, "base"),
    }


def _khr1(values: Values) -> Parameters:
    return _humanoid(values, Parameter("khr1"))


def _hoap2(values: Values) -> Parameters:
    return _humanoid(values, Parameter(values["robot"], "robot"))


def _hexa(values: Values) -> Parameters:
    return {"robot": Parameter("hexa"), "world_frame": Parameter(WORLD)}


def _closed_chain(values: Values) -> Parameters:
    return {"robot": Parameter(values["mechanism"], "mechanism"), "world_frame": Parameter(WORLD)}


def _display(values: Values) -> Parameters:
    return {
        "robot": Parameter(values["robot"], "robot"),
        "loops": Parameter(values["loops"], "loops"),
        "base": Parameter(values["base"], "base"),
        "contact": Parameter("off"),
        "start_paused": Parameter(True),
        "world_frame": Parameter(WORLD),
    }


_PA10S = ("pa10", "pa10_7c", "pa10_thesis")
_HOAP2S = ("hoap2", "hoap2_10dof")
_PREFIX = "closed_chain_"
MECHANISMS = tuple(name.removeprefix(_PREFIX) for name, picture in PICTURES.items() if name == _PREFIX + picture.robot)

SIMULATIONS = (
    Setup(
        "pa10_sim",
        "the arm PA-10 with 7 joints, swinging freely (idle:=hold: held by its servos)",
        (
            Argument("robot", "pa10", "which arm: PA10-7CE, the older PA-10-7C, or as in Takahashi 2012", _PA10S),
            *common_arguments("release"),
        ),
        _pa10,
        lambda values: PICTURES["pa10_sim"],
        shorthands={"pa10": {}, **{name: {"robot": name} for name in _PA10S[1:]}},
    ),
    Setup(
        "khr1_sim",
        "the humanoid KHR-1, standing on the ground",
        (_BASE, _CONTACT, *common_arguments("hold")),
        _khr1,
        lambda values: PICTURES["khr1_sim"],
        shorthands={"khr1": {}},
    ),
    Setup(
        "hoap2_sim",
        "the humanoid HOAP-2, standing on the ground",
        (
            Argument("robot", "hoap2", "with all 25 joints, or with hips and ankles only", _HOAP2S),
            _BASE,
            _CONTACT,
            *common_arguments("hold"),
        ),
        _hoap2,
        lambda values: PICTURES["hoap2_sim" if values["robot"] == "hoap2" else "hoap2_sim_10dof"],
        shorthands={"hoap2": {}, "hoap2_10dof": {"robot": "hoap2_10dof"}},
    ),
    Setup(
        "hexa_sim",
        "the parallel robot HEXA with six closed loops, held by its six motors",
        common_arguments("hold"),
        _hexa,
        lambda values: PICTURES["hexa_sim"],
        shorthands={"hexa": {}},
    ),
    Setup(
        "closed_chain",
        "a mechanism with closed loops, swinging freely",
        (
            Argument("mechanism", "four_bar", "which mechanism of the catalogue", MECHANISMS),
            *common_arguments("release"),
        ),
        _closed_chain,
        lambda values: PICTURES[_PREFIX + values["mechanism"]],
        shorthands={name: {"mechanism": name} for name in MECHANISMS},
    ),
    Setup(
        "display",
        "any robot, at rest, with sliders for its joints in the browser view",
        (
            Argument(
                "robot",
                "pa10",
                "path of a URDF, xacro, MJCF or SDFormat file, or a name from `ada list`; empty: from the topic "
                "robot_description",
                kind="robot",
            ),
            Argument("loops", "", "path of a file with joints that close loops; empty: none", kind="file"),
            Argument(
                "base",
                "auto",
                "how the root link is held; auto: fixed, or as the catalogue has it",
                ("auto", "fixed", "floating", "floating_euler"),
            ),
            *common_arguments("hold"),
        ),
        _display,
        lambda values: PICTURES["display"],
        has_sliders=True,
    ),
)
