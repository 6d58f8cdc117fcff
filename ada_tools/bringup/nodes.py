# SPDX-License-Identifier: Apache-2.0
"""The nodes of our launch files, as actions of launch_ros: the robot, its controller, and what watches it.

A launch file says their parameters; what all of them take from common arguments is added here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ada_tools.bringup.devices import is_driven
from ada_tools.bringup.launching import LaunchValues
from ada_tools.bringup.pictures import Picture
from ada_tools.bringup.processes import PACKAGE, Parameter, ParameterValue

Settings = Mapping[str, ParameterValue | Parameter]
STATE = (("state", "dynamics_node/state"),)  # the exact state of the simulation


def robot_node(
    values: LaunchValues, simulated: Callable[[LaunchValues], Settings], driven: Callable[[LaunchValues], Settings]
) -> Any:
    """The robot on the backend that was asked for.

    Args:
        values: of the launch.
        simulated: makes the parameters of dynamics_node.
        driven: makes those of hardware_node, for a device that is emulated or real.
    """
    return hardware_node(values, driven(values)) if is_driven(values) else dynamics_node(values, simulated(values))


def dynamics_node(values: LaunchValues, parameters: Settings) -> Any:
    """The simulated robot, which the others need."""
    return _node("dynamics_node", values, {**values.simulation, **parameters}, values.tf, **values.required)


def hardware_node(values: LaunchValues, parameters: Settings) -> Any:
    """The robot or the sensor on its wire, which the others need."""
    own = {**values.use_sim_time, **values.frames, **parameters}
    return _node("hardware_node", values, own, values.tf, **values.required)


def controller_node(values: LaunchValues, parameters: Settings, heard: Sequence[tuple[str, str]] = STATE) -> Any:
    """The controller of the robot, which is needed where there is one.

    Args:
        values: of the launch.
        parameters: its own.
        heard: remappings of the topics that it listens to.
    """
    return _node("controller_node", values, {**values.follower, **parameters}, heard, **values.required)


def target_node(values: LaunchValues, parameters: Settings | None = None) -> Any:
    """The target of a controller: a first one that is given, or one to be dragged in RViz; None without either."""
    if parameters is None and not values.shows_rviz:
        return None
    life = values.optional if parameters is None else values.once
    return _node("target_node", values, {**values.use_sim_time, **(parameters or {})}, **life)


def watchers(values: LaunchValues, picture: Picture, frame: str = "", view: Settings | None = None) -> list[Any]:
    """The nodes that the robot can do without, and what cannot be done as wished.

    Args:
        values: of the launch.
        picture: that RViz shows.
        frame: in which RViz draws, without prefix; "": as the picture has it.
        view: parameters of view_node that are this launch file's own.
    """
    found: list[Any] = []
    if is_driven(values) and values["record"]:  # dynamics_node records itself
        own = {**values.use_sim_time, "path": values("record")}
        found.append(_node("record_node", values, own, **values.once))
    if values.get("oracle") == "true":
        own = {**values.use_sim_time, "description_timeout": Parameter(0.0)}  # a first start compiles
        found.append(_node("oracle_node", values, own, **values.optional))
    if values.shows_view:
        plant = {"plant": Parameter("hardware_node")} if is_driven(values) else {}
        own_view = {**values.view, **plant, **(view or {})}
        found.append(_node("view_node", values, own_view, values.tf, **values.optional))
    if values.shows_rviz:
        words = {**values.rviz(picture, frame), **values.optional}
        found.append(_node("rviz2", values, values.use_sim_time, package="rviz2", **words))
    return [*found, *values.notes]


def _node(
    name: str,
    values: LaunchValues,
    parameters: Settings,
    remappings: Sequence[tuple[str, str]] = (),
    package: str = PACKAGE,
    **words: Any,
) -> Any:
    """An executable as a node of its name; the user's file of parameters is for our nodes alone."""
    from launch_ros.actions import Node

    return Node(
        package=package,
        executable=name,
        name=name,
        parameters=values.layers(parameters, takes_file=package == PACKAGE),
        remappings=list(remappings),
        **words,
    )
