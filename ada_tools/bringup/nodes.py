# SPDX-License-Identifier: Apache-2.0
"""Nodes of the launch files as launch_ros actions, with the parameters from common arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ada_tools.bringup.devices import is_driven
from ada_tools.bringup.launching import LaunchValues
from ada_tools.bringup.pictures import Picture
from ada_tools.bringup.processes import PACKAGE, Parameter, ParameterValue

Settings = Mapping[str, ParameterValue | Parameter]
STATE = (("state", "dynamics_node/state"),)  # complete state of the simulation


def robot_node(
    values: LaunchValues, simulated: Callable[[LaunchValues], Settings], driven: Callable[[LaunchValues], Settings]
) -> Any:
    """Robot node for the selected backend.

    Args:
        values: values of the launch.
        simulated: creates the parameters of dynamics_node.
        driven: creates the parameters of hardware_node, for an emulated or real device.
    """
    return hardware_node(values, driven(values)) if is_driven(values) else dynamics_node(values, simulated(values))


def dynamics_node(values: LaunchValues, parameters: Settings) -> Any:
    """Simulated robot; a required node."""
    return _node("dynamics_node", values, {**values.simulation, **parameters}, values.tf, **values.required)


def hardware_node(values: LaunchValues, parameters: Settings) -> Any:
    """Hardware node with the robot or sensor; a required node."""
    own = {**values.use_sim_time, **values.frames, **parameters}
    return _node("hardware_node", values, own, values.tf, **values.required)


def controller_node(values: LaunchValues, parameters: Settings, heard: Sequence[tuple[str, str]] = STATE) -> Any:
    """Controller of the robot; a required node.

    Args:
        values: values of the launch.
        parameters: parameters of the controller.
        heard: remappings of subscribed topics.
    """
    return _node("controller_node", values, {**values.follower, **parameters}, heard, **values.required)


def target_node(values: LaunchValues, parameters: Settings | None = None) -> Any:
    """Target of a controller: given initially, or dragged in RViz; None without either."""
    if parameters is None and not values.shows_rviz:
        return None
    life = values.optional if parameters is None else values.once
    return _node("target_node", values, {**values.use_sim_time, **(parameters or {})}, **life)


def watchers(values: LaunchValues, picture: Picture, frame: str = "", view: Settings | None = None) -> list[Any]:
    """Optional nodes (recorder, oracle, views), and warnings about requests that cannot be fulfilled.

    Args:
        values: values of the launch.
        picture: RViz configuration.
        frame: fixed frame without prefix; "" for the frame of the configuration.
        view: additional parameters of view_node.
    """
    found: list[Any] = []
    if is_driven(values) and values["record"]:  # dynamics_node has a recorder
        own = {**values.use_sim_time, "path": values("record")}
        found.append(_node("record_node", values, own, **values.once))
    if values.get("oracle") == "true":
        own = {**values.use_sim_time, "description_timeout": Parameter(0.0)}  # the first start compiles
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
    """Node action; the user's parameter file applies to nodes of this package only."""
    from launch_ros.actions import Node

    return Node(
        package=package,
        executable=name,
        name=name,
        parameters=values.layers(parameters, takes_file=package == PACKAGE),
        remappings=list(remappings),
        **words,
    )
