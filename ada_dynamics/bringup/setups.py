# SPDX-License-Identifier: Apache-2.0
"""The setups: which nodes run together, with which parameters, and what a user may choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ada_dynamics import resources
from ada_dynamics.bringup.arguments import AUTO, BOOLEANS, Argument, Values
from ada_dynamics.bringup.params_files import check_params_file
from ada_dynamics.bringup.pictures import PICTURES, Picture
from ada_dynamics.bringup.processes import Machine, Parameter, ParameterValue, Plan, Process
from ada_dynamics.errors import unknown_name

PLANT = "dynamics_node"  # the robot's node, and the first part of the names of its own topics
WORLD, ODOM = "world", "odom"
_OUR_NODES = (PLANT, "view_node", "oracle_node")  # those that a setup may start

Parameters = Mapping[str, Parameter]


@dataclass(frozen=True)
class Setup:
    """One set of nodes.

    Attributes:
        name: as in NAME.launch.py and `ada up NAME`.
        summary: what it is, in a line.
        arguments: all that it takes.
        robot: parameters of the robot's node that depend on this setup's own arguments.
        picture: what RViz shows.
        has_sliders: whether the browser view sets the robot's pose.
        shorthands: other names for it, with the arguments that they stand for.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    robot: Callable[[Values], Parameters]
    picture: Callable[[Values], Picture]
    has_sliders: bool = False
    shorthands: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def launch_file(self) -> str:
        """Its name in launch/."""
        return f"{self.name}.launch.py"


def plan(setup: Setup | str, values: Mapping[str, str] | None = None, machine: Machine | None = None) -> Plan:
    """What a setup starts.

    Args:
        setup: or its name.
        values: of arguments that differ from their defaults.
        machine: what is installed; by default what this machine has.

    Raises:
        InputError: a setup or an argument is unknown, or a value is not allowed; the message says what is.
    """
    if isinstance(setup, str):
        setup, shorthand = find_setup(setup)
        values = {**shorthand, **(values or {})}
    checked = Values(setup.arguments, values or {}, setup.name)
    machine = machine or Machine.this()
    processes = [_plant(setup, checked)]
    if checked.flag("oracle"):
        # A first start compiles: the robot's description may take longer than the oracle waits by itself.
        patient = {"description_timeout": Parameter(0.0)}
        processes.append(_node("oracle_node", patient, checked, optional=True))
    if _is_wanted(checked["view"], machine.has_viser):
        processes.append(_view(setup, checked))
    notes = []
    if _is_wanted(checked["rviz"], machine.has_rviz):
        if machine.has_rviz:
            processes.append(_rviz(setup, checked))
        else:
            notes.append("rviz:=true, but rviz2 is not on the PATH: going on without it (view:=true shows the robot)")
    if checked["params_file"]:
        check_params_file(Path(checked["params_file"]), [f"{checked['namespace']}/{name}" for name in _OUR_NODES])
    return Plan(setup.name, dict(checked), tuple(processes), tuple(notes))


def find_setup(name: str) -> tuple[Setup, dict[str, str]]:
    """A setup by its name or by a shorthand, and the arguments that the shorthand stands for.

    Raises:
        InputError: there is none of that name.
    """
    if name in SETUPS:
        return SETUPS[name], {}
    for setup in SETUPS.values():
        if name in setup.shorthands:
            return setup, dict(setup.shorthands[name])
    raise unknown_name("setup", name, [*SETUPS, *(short for setup in SETUPS.values() for short in setup.shorthands)])


def _is_wanted(word: str, is_there: bool) -> bool:
    return word == "true" or (word == "auto" and is_there)


def _plant(setup: Setup, values: Values) -> Process:
    parameters = dict(setup.robot(values))
    parameters["wrenches"] = Parameter(list(setup.picture(values).joints))
    parameters["idle"] = Parameter(values["idle"], "idle")
    parameters["real_time_factor"] = Parameter(float(values["real_time_factor"]), "real_time_factor")
    parameters["record"] = Parameter(values["record"], "record")
    # It is the clock that the others follow; its own steps keep to the steady clock.
    parameters["publish_clock"] = Parameter(values.flag("use_sim_time"), "use_sim_time")
    return _node(PLANT, parameters, values, follows_clock=False)


def _view(setup: Setup, values: Values) -> Process:
    parameters = {"port": Parameter(int(values["view_port"]), "view_port")}
    if setup.has_sliders:
        parameters["pose_sliders"] = Parameter(True)
    return _node("view_node", parameters, values, optional=True)


def _rviz(setup: Setup, values: Values) -> Process:
    from ada_dynamics.bringup.rviz import topics

    picture = setup.picture(values)
    arguments = ["-d", str(resources.find("config", picture.file))]
    frame = setup.robot(values).get("world_frame", Parameter(picture.fixed_frame)).value
    if frame != picture.fixed_frame:
        arguments += ["-f", str(frame)]
    return _node(
        "rviz2", {}, values, package="rviz2", topics=topics(picture), arguments=tuple(arguments), optional=True
    )


def _node(
    executable: str,
    parameters: Parameters,
    values: Values,
    *,
    package: str = "ada_dynamics",
    follows_clock: bool = True,
    topics: tuple[str, ...] = (),
    arguments: tuple[str, ...] = (),
    optional: bool = False,
) -> Process:
    """A process with what all of them have: namespace, clock, file of parameters.

    In a namespace, topics with absolute names move into it, those of TF among them; the clock stays everybody's.
    """
    if follows_clock:
        parameters = {**parameters, "use_sim_time": Parameter(values.flag("use_sim_time"), "use_sim_time")}
    moved = ("/tf", "/tf_static", *topics) if values["namespace"] else ()
    return Process(
        executable,
        executable,
        package=package,
        namespace=values["namespace"],
        parameters=_chosen(parameters, lambda argument: argument not in values.given),
        given=_chosen(parameters, lambda argument: argument in values.given),
        # RViz takes no parameters but the one of the clock.
        params_file=Path(values["params_file"]) if values["params_file"] and package == "ada_dynamics" else None,
        remappings=tuple((name, name.removeprefix("/")) for name in moved),
        arguments=arguments,
        optional=optional,
    )


def _chosen(parameters: Parameters, condition: Callable[[str], bool]) -> dict[str, ParameterValue]:
    return {name: one.value for name, one in parameters.items() if condition(one.argument)}


def _common(idle: str) -> tuple[Argument, ...]:
    """The arguments that every setup takes."""
    return (
        Argument(
            "idle",
            idle,
            "what joints without a live command do: a servo holds them where they are, or they swing freely",
            ("hold", "release"),
        ),
        Argument("real_time_factor", "1.0", "simulated seconds per second; 0: as fast as it goes", kind="number"),
        Argument("view", "auto", "whether to show the robot in the browser; auto: where viser is installed", AUTO),
        Argument("view_port", "8080", "port of the browser view on this machine; 0: any free one", kind="port"),
        Argument("rviz", "auto", "whether to show the robot in RViz; auto: where rviz2 is installed", AUTO),
        Argument("record", "", "path of an .mcap file to record to; empty: none", kind="new_file"),
        Argument("oracle", "false", "whether to check every answer against pinocchio, on /diagnostics", BOOLEANS),
        Argument(
            "use_sim_time",
            "false",
            "whether the simulation is the clock (/clock) that all others follow",
            BOOLEANS,
        ),
        Argument("namespace", "", "namespace of all nodes and topics; empty: none", kind="namespace"),
        Argument(
            "params_file",
            "",
            "path of a YAML file with parameters of the nodes; arguments that are given win over it",
            kind="file",
        ),
    )


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
MECHANISMS = tuple(name.removeprefix(_PREFIX) for name in PICTURES if name.startswith(_PREFIX))

_ALL = (
    Setup(
        "pa10_sim",
        "the arm PA-10 with 7 joints, swinging freely (idle:=hold: held by its servos)",
        (
            Argument("robot", "pa10", "which arm: PA10-7CE, the older PA-10-7C, or as in Takahashi 2012", _PA10S),
            *_common("release"),
        ),
        _pa10,
        lambda values: PICTURES["pa10_sim"],
        shorthands={"pa10": {}, **{name: {"robot": name} for name in _PA10S[1:]}},
    ),
    Setup(
        "khr1_sim",
        "the humanoid KHR-1, standing on the ground",
        (_BASE, _CONTACT, *_common("hold")),
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
            *_common("hold"),
        ),
        _hoap2,
        lambda values: PICTURES["hoap2_sim" if values["robot"] == "hoap2" else "hoap2_sim_10dof"],
        shorthands={"hoap2": {}, "hoap2_10dof": {"robot": "hoap2_10dof"}},
    ),
    Setup(
        "hexa_sim",
        "the parallel robot HEXA with six closed loops, held by its six motors",
        _common("hold"),
        _hexa,
        lambda values: PICTURES["hexa_sim"],
        shorthands={"hexa": {}},
    ),
    Setup(
        "closed_chain",
        "a mechanism with closed loops, swinging freely",
        (Argument("mechanism", "four_bar", "which mechanism of the catalogue", MECHANISMS), *_common("release")),
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
            *_common("hold"),
        ),
        _display,
        lambda values: PICTURES["display"],
        has_sliders=True,
    ),
)
SETUPS: Mapping[str, Setup] = {setup.name: setup for setup in _ALL}
