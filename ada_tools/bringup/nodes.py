# SPDX-License-Identifier: Apache-2.0
"""Processes of setups: validated argument values, and the nodes with the parameters derived from them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ada_dynamics import resources
from ada_dynamics.errors import AdaError, InputError, unknown_name
from ada_dynamics.structured_text.files import parsed
from ada_dynamics.structured_text.nodes import MappingNode, is_empty, kind_of
from ada_robot.ros.parameter_files import BLOCK, blocks
from ada_robot.ros.robot_settings import COMMON_WORLD, check_base_pose, check_frame_prefix
from ada_tools.bringup.arguments import Argument, joint_positions, numbers
from ada_tools.bringup.processes import PACKAGE, Machine, ParameterValue, Process, written

SIM = "sim"  # the backend of setups without a device
_NODES = (
    "dynamics_node",
    "hardware_node",
    "controller_node",
    "target_node",
    "view_node",
    "oracle_node",
    "loop_state_publisher",
)


_SENSOR_JOINT = "flange_fixed"  # between arm and hand, where the simulated sensor measures


class Parameter(NamedTuple):
    """Value of a node parameter, and the argument that it originates from."""

    value: ParameterValue
    argument: str = ""  # "" if set by the setup


Parameters = Mapping[str, ParameterValue | Parameter | None]  # None: the default of the node
# A late simulation loses no state, and after a strong push it returns to its target. Its complete state is exact.
_BESIDE_SIMULATION: Parameters = {
    "state_timeout": 2.0,
    "max_gap": 0.5,
    "max_position_jump": 0.0,
    "state_source": "state",
}
# A device publishes no states while its servos power up; its watchdogs handle missing commands.
_BESIDE_DEVICE: Parameters = {"state_timeout": 2.0, "state_source": "joint_states"}


class SetupValues(Mapping[str, str]):
    """Validated argument values of a setup.

    `values["robot"]` is the text; `values("robot")` is a parameter that records its argument.

    Attributes:
        given: names of the given arguments; they override the parameter file of the user.
        machine: installed programs.
        namespace: absolute namespace of the nodes; "" for none.
        params_file: parameter file of the user.
        notes: warnings about requests that cannot be fulfilled.
    """

    def __init__(
        self,
        setup: str,
        arguments: Sequence[Argument],
        given: Mapping[str, str],
        machine: Machine,
        pushed: str = "",
    ) -> None:
        """Validate the values.

        Args:
            setup: name of the setup.
            arguments: all arguments.
            given: given values by name; the others get their defaults.
            machine: installed programs.
            pushed: namespace of an including launch file, to which a relative namespace is added.

        Raises:
            InputError: an argument is unknown, or a value is not allowed.
        """
        known = {argument.name: argument for argument in arguments}
        for name in given:
            if name not in known:
                raise unknown_name(f"argument of {setup}", name, known)
        self.given = frozenset(given)
        self.machine = machine
        self._values = {
            name: argument.checked(given[name]) if name in given else argument.default
            for name, argument in known.items()
        }
        self._changed = {name for name in given if self[name] != known[name].default}
        own = self["namespace"]
        above = f"/{pushed.strip('/')}" if pushed.strip("/") else ""
        self.namespace = own if own.startswith("/") else f"{above}/{own}".rstrip("/")
        check_frame_prefix(self["frame_prefix"])
        check_base_pose(self.base_pose, self["frame_prefix"])
        self.notes: list[str] = []
        self.params_file = Path(self["params_file"]) if self["params_file"] else None
        if self.params_file is not None:
            unused = unused_parameters(self.params_file, [f"{self.namespace}/{name}" for name in _NODES])
            self.notes += [unused] if unused else []
        if self["rviz"] == "true" and not machine.has_rviz:
            self.notes.append(
                "rviz:=true, but rviz2 is not on the PATH: RViz is not started (view:=true shows the robot)"
            )

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __call__(self, name: str, value: ParameterValue | None = None) -> Parameter:
        """Parameter from an argument, with its text or a derived value."""
        return Parameter(self[name] if value is None else value, name)

    def substituted(self, text: str) -> tuple[str, str]:
        """Text with `$name` replaced by the value of an argument, and the name of the argument; "" without one."""
        found = re.search(r"\$(\w+)", text)
        return (text.replace(found[0], self[found[1]]), found[1]) if found else (text, "")

    def flag(self, name: str) -> bool:
        """Return True if a value is "true"."""
        return self.get(name) == "true"

    def is_changed(self, name: str) -> bool:
        """Return True if a value other than the default was given."""
        return name in self._changed

    @property
    def is_driven(self) -> bool:
        """Return True if a real or emulated device is used instead of a simulation."""
        return self.get("backend", SIM) != SIM

    @property
    def base_pose(self) -> list[float]:
        """Pose of the robot in the common world frame; empty if unknown."""
        return numbers(self.get("base_pose", ""))

    @property
    def prefix(self) -> dict[str, Parameter]:
        """Parameter of nodes that use frame names."""
        return {"frame_prefix": self("frame_prefix")} if self["frame_prefix"] else {}

    @property
    def frames(self) -> dict[str, Parameter]:
        """Parameters of nodes that publish transforms."""
        place = {"base_pose": self("base_pose", self.base_pose)} if self.base_pose else {}
        return {**self.prefix, **place}

    @property
    def use_sim_time(self) -> dict[str, Parameter]:
        """Parameter of every node except the one that publishes the clock."""
        return {"use_sim_time": self("use_sim_time", self.flag("use_sim_time"))}

    @property
    def tf(self) -> tuple[tuple[str, str], ...]:
        """Remappings of /tf: a namespace has separate transforms unless a prefix keeps the frames distinct."""
        is_own = self.namespace and not self["frame_prefix"]
        return (("/tf", "tf"), ("/tf_static", "tf_static")) if is_own else ()

    @property
    def shows_view(self) -> bool:
        """Return True if the browser view is started."""
        return self["view"] == "true" or (self["view"] == "auto" and self.machine.has_viser)

    @property
    def shows_rviz(self) -> bool:
        """Return True if RViz is started, which requires its installation."""
        return self["rviz"] != "false" and self.machine.has_rviz


def dynamics_node(values: SetupValues, picture: str, parameters: Parameters) -> Process:
    """Simulated robot; a required node.

    Args:
        values: values of the setup.
        picture: RViz configuration; the wrenches that it displays are published.
        parameters: parameters of the setup.
    """
    common: dict[str, Parameter] = {
        "idle": values("idle"),
        "real_time_factor": values("real_time_factor", float(values["real_time_factor"])),
        # The simulation is the clock of the other nodes; its steps follow the steady clock.
        "publish_clock": values("use_sim_time", values.flag("use_sim_time")),
        **values.frames,
        "world_frame": Parameter("world"),
        "wrenches": Parameter(displayed_joints(picture)),
    }
    given = {name: one for name, one in common.items() if one.argument in values.given}
    return node_process("dynamics_node", values, {**common, **parameters, **given}, values.tf)


def controller_node(values: SetupValues, parameters: Parameters) -> Process:
    """Controller of the robot; a required node.

    Beside a simulation it gets the complete state, and the wrench of a joint instead of that of a sensor.
    """
    beside = _BESIDE_DEVICE if values.is_driven else _BESIDE_SIMULATION
    own = {**values.use_sim_time, **values.prefix, **beside, **parameters}
    heard = [] if values.is_driven else [("state", "dynamics_node/state")]
    if "sensor" in values and not values.is_driven:
        heard.append(("wrench", f"dynamics_node/wrench/{_SENSOR_JOINT}"))
    return node_process("controller_node", values, own, heard)


def target_node(values: SetupValues) -> list[Process]:
    """Node that sends the initial target of a controller from the argument `goal` or `target`; none without one."""
    own: Parameters = {}
    if goal := joint_positions(values.get("goal", "")):
        own = {"joints": values("goal", list(goal)), "positions": values("goal", list(goal.values()))}
    if "target" in values and values["mechanism"] == "slider_crank":
        place = float(values["target"] or 1.49)  # [m] Takahashi 2012, sec. 7.2.3
        own = {"pose": values("target", [place, 0.0, 0.0, 0.0, 0.0, 0.0])}
    elif "target" in values:
        angle = math.radians(float(values["target"] or 0.0))
        own = {"joints": ["joint_1"], "positions": values("target", [angle])}
    return [node_process("target_node", values, {**values.use_sim_time, **own}, is_optional=True)] if own else []


def watchers(values: SetupValues, picture: str, frame: str = "", view: Parameters | None = None) -> list[Process]:
    """Optional nodes: oracle and views.

    Args:
        values: values of the setup.
        picture: RViz configuration.
        frame: fixed frame without prefix; "" for the frame of the configuration.
        view: additional parameters of view_node.
    """
    found: list[Process] = []
    if values.flag("oracle"):
        own: Parameters = {**values.use_sim_time, "description_timeout": 0.0}  # the first start compiles
        found.append(node_process("oracle_node", values, own, is_optional=True))
    if values.shows_view:
        own = {
            **values.use_sim_time,
            **values.prefix,
            "port": values("view_port", int(values["view_port"])),
            **({"plant": "hardware_node"} if values.is_driven else {}),
            **(view or {}),
        }
        found.append(node_process("view_node", values, own, values.tf, is_optional=True))
    if values.shows_rviz:
        found.append(_rviz(values, picture, frame))
    return found


def _rviz(values: SetupValues, picture: str, frame: str) -> Process:
    """RViz; a namespace moves all topics of its configuration, which have absolute names."""
    file, prefix = resources.find("config", f"{picture}.rviz"), values["frame_prefix"]
    text = file.read_text(encoding="utf-8")
    frame_of_file = re.findall(r"Fixed Frame: (\S+)", text)[0]
    wanted = COMMON_WORLD if values.base_pose else prefix + (frame or frame_of_file)
    if prefix and not prefix.endswith("/"):
        problem = (
            f"frame_prefix:={prefix}: RViz appends a slash, but the frames have none. Write {prefix}/, or disable "
            "RViz: rviz:=false."
        )
        raise InputError(problem, field="frame_prefix", value=prefix)
    if prefix:
        file = written(file.name, text.replace("TF Prefix: ''", f"TF Prefix: {prefix.rstrip('/')}"))
    return node_process(
        "rviz2",
        values,
        values.use_sim_time,
        (*values.tf, *((name, name.removeprefix("/")) for name in topics(picture) if values.namespace)),
        package="rviz2",
        arguments=("-d", str(file), *(("-f", wanted) if wanted != frame_of_file else ())),
        is_optional=True,
    )


def topics(picture: str) -> list[str]:
    """Topics of an RViz configuration, except those of TF."""
    text = resources.find("config", f"{picture}.rviz").read_text(encoding="utf-8")
    return re.findall(r"^ +Value: (/\S+)", text, re.MULTILINE)


def displayed_joints(picture: str) -> list[str]:
    """Joints whose wrenches an RViz configuration displays."""
    wrench = "/dynamics_node/wrench/"
    return [name.removeprefix(wrench) for name in topics(picture) if name.startswith(wrench)]


def node_process(
    name: str,
    values: SetupValues,
    parameters: Parameters,
    remappings: Sequence[tuple[str, str]] = (),
    *,
    package: str = PACKAGE,
    arguments: Sequence[str] = (),
    is_optional: bool = False,
) -> Process:
    """Process of a node; the user's parameter file applies to nodes of this package only."""
    found = {
        key: one if isinstance(one, Parameter) else Parameter(one) for key, one in parameters.items() if one is not None
    }
    return Process(
        name,
        name,
        package=package,
        namespace=values.namespace,
        parameters={key: one.value for key, one in found.items() if one.argument not in values.given},
        given={key: one.value for key, one in found.items() if one.argument in values.given},
        params_file=values.params_file if package == PACKAGE else None,
        remappings=tuple(remappings),
        arguments=tuple(arguments),
        optional=is_optional,
        log_level="" if values["log_level"] == "info" else values["log_level"],
    )


# --- parameter file of the user ---------------------------------------------------------------------------------
def unused_parameters(path: Path, nodes: Sequence[str]) -> str:
    """Warning about parameters for unknown nodes in a file; "" without any.

    Args:
        path: parameter file.
        nodes: names of the nodes with their namespace.

    Raises:
        InputError: the file is not a parameter file.
    """
    try:
        content = parsed(path)
    except AdaError as problem:
        raise InputError(
            f"params_file cannot be read: {problem} The file {_form(nodes)}", field="params_file"
        ) from None
    found = list(blocks(content))
    if not found:
        raise InputError(f"params_file {path} contains no parameters: it {_form(nodes)}", field="params_file")
    for name, inner in found:
        if not is_empty(inner) and not isinstance(inner, MappingNode):
            text = f"params_file {path}: {name:.200}: {BLOCK} is {kind_of(inner)}; it must be a mapping."
            raise InputError(text, field="params_file")
    foreign = [name for name, _ in found if not any(_matches(name, node) for node in nodes)]
    if not foreign:
        return ""
    return (
        f"params_file {path}: no node is named {', '.join(foreign)}; ignored. The nodes are "
        f"{', '.join(nodes)}: write the full name, or a name with wildcards such as /**/dynamics_node"
    )


def _form(nodes: Sequence[str]) -> str:
    return f"must have the form `{nodes[0]}: {{{BLOCK}: {{name: value}}}}`."


def _matches(key: str, node: str) -> bool:
    """Return True if a key matches a node name, as in ROS: * is one part of the name, ** any number of parts."""
    parts = node.strip("/").split("/")
    read = {0}  # numbers of leading node name parts matched so far
    for part in key.strip("/").split("/"):
        if part == "**":
            read = set(range(min(read, default=len(parts) + 1), len(parts) + 1))
        else:
            read = {k + 1 for k in read if k < len(parts) and part in ("*", parts[k])}
    return len(parts) in read
