# SPDX-License-Identifier: Apache-2.0
"""Arguments `name:=value` of setups, and the checks of their values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ada_dynamics.errors import InputError, unknown_name

BOOLEANS = ("true", "false")
# RViz if it is installed, the browser view if viser is.
AUTO = ("auto", *BOOLEANS)

_LAST_PORT = 65535
# Relative or absolute ROS names, parts between slashes.
_NAMESPACE = re.compile(r"/|/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass(frozen=True)
class Argument:
    """One launch argument.

    Attributes:
        name: name, which also selects the check of values without choices.
        default: default value.
        description: one-sentence description.
        choices: allowed values; empty for free text.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()

    def checked(self, value: str) -> str:
        """Validated and normalized value.

        Raises:
            InputError: the value is not allowed.
        """
        text = str(value).strip()
        if self.choices:
            if text not in self.choices:
                raise unusable(self.name, text, str(unknown_name(f"value of {self.name}", text, self.choices)))
            return text
        return _CHECKS[self.name](self.name, text) if self.name in _CHECKS else text


def assignments(words: Iterable[str]) -> dict[str, str]:
    """Parse words such as "idle:=hold" into a dict.

    Raises:
        InputError: a word is malformed, or a name occurs twice.
    """
    found: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition(":=")
        if not sign or not name:
            raise InputError(f"{word!r} is not an argument: write NAME:=VALUE, such as rviz:=false.", value=word)
        if name in found:
            raise InputError(
                f"argument {name!r} is given twice, as {found[name]!r} and as {value!r}.", field=name, value=value
            )
        found[name] = value
    return found


def unusable(name: str, value: object, why: str) -> InputError:
    """Error for the value of an argument."""
    return InputError(f"{name}:={value}: {why}", field=name, value=value)


def _number(name: str, text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise unusable(name, text, "it must be a number, 0 or more.")
    return text


def _real(name: str, text: str) -> str:
    """Number of any sign, or empty text."""
    try:
        value = float(text or 0.0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise unusable(name, text, "it must be a number, or empty.")
    return text


def _port(name: str, text: str) -> str:
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise unusable(name, text, f"it must be a port from 1 to {_LAST_PORT}, or 0 for any free one.")
    return text


def numbers(text: str) -> list[float]:
    """Parse numbers separated or enclosed by spaces, commas, semicolons or brackets.

    Raises:
        ValueError: the text contains anything else.
    """
    return [float(word) for word in re.sub(r"[\[\],;]", " ", text).split()]


def _pose(name: str, text: str, what: str = "x, y, z [m] and yaw [rad], such as '0.5 0 0 1.57'") -> str:
    """Normalize a list of numbers; its length is checked by the node."""
    try:
        return " ".join(map(repr, numbers(text)))
    except ValueError:
        raise unusable(name, text, f"it must be numbers, {what}.") from None


def joint_positions(text: str) -> dict[str, float]:
    """Parse joint positions such as "shoulder=0.5,elbow=-0.2".

    Raises:
        ValueError: the text is malformed, or a position is not finite.
    """
    found: dict[str, float] = {}
    for word in text.replace(",", " ").split():
        joint, _, position = word.partition("=")
        if not joint or joint in found or not math.isfinite(float(position)):
            raise ValueError(word)
        found[joint] = float(position)
    return found


def _goal(name: str, text: str) -> str:
    """Text for `joint_positions`; the controller checks the joints and their limits."""
    try:
        joint_positions(text)
    except ValueError:
        raise unusable(name, text, "it must be JOINT=POSITION [rad, m], such as shoulder=0.5,elbow=-0.2.") from None
    return text


def _mounting(name: str, text: str) -> str:
    """Like `_pose`, with roll, pitch and yaw."""
    return _pose(name, text, "x, y, z [m], roll, pitch, yaw [rad], such as '0 0 0.1 0 0 1.57'")


def _file(name: str, text: str) -> str:
    """Absolute path of an existing file; nodes may run in other directories."""
    if not text:
        return text
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise unusable(name, text, f"file {path} does not exist.")
    return str(path)


def _new_file(name: str, text: str) -> str:
    """Absolute path of an output file in an existing directory."""
    if not text:
        return text
    path = Path(text).expanduser().absolute()
    if path.is_dir() or not path.parent.is_dir():
        raise unusable(name, text, f"{path} must be a file in an existing folder.")
    return str(path)


def _robot(name: str, text: str) -> str:
    """Catalogue name, existing file, or empty text."""
    from ada_dynamics.robots.catalogue import CATALOGUE

    if not text or text in CATALOGUE:
        return text
    path = Path(text).expanduser().absolute()
    if path.is_file():
        return str(path)
    if "/" in text or path.suffix:
        raise unusable(name, text, f"file {path} does not exist.")
    raise unusable(name, text, str(unknown_name("file or robot of the catalogue", text, CATALOGUE)))


def _namespace(name: str, text: str) -> str:
    """Relative or absolute namespace; empty for none."""
    if not text or text == "/":
        return ""
    if not _NAMESPACE.fullmatch(text):
        words = "each part must start with a letter and contain only letters, digits and underscores"
        raise unusable(name, text, f"{words}, such as left or /cell_1/left.")
    return text


# Checks of arguments without choices; all others accept any text.
_CHECKS: Mapping[str, Callable[[str, str], str]] = {
    "angle_map": _file,
    "base_pose": _pose,
    "goal": _goal,
    "loops": _file,
    "mounting": _mounting,
    "namespace": _namespace,
    "params_file": _file,
    "real_time_factor": _number,
    "record": _new_file,
    "robot": _robot,
    "target": _real,
    "view_port": _port,
}


# Arguments of every setup.
NODE_ARGUMENTS = (
    Argument("view", "auto", "show the robot in the browser; auto: if viser is installed", AUTO),
    Argument("view_port", "8080", "port of the browser view on this machine; 0: any free one"),
    Argument("rviz", "auto", "show the robot in RViz; auto: if rviz2 is installed", AUTO),
    Argument("record", "", "path of an .mcap file to record to; empty: none"),
    Argument("use_sim_time", "false", "all nodes follow the clock of the simulation (/clock)", BOOLEANS),
    Argument("namespace", "", "namespace of all nodes and topics, relative to a pushed namespace; empty: none"),
    Argument(
        "frame_prefix",
        "",
        "prefix of all frame names, such as left/, so that several robots can share /tf; empty: none",
    ),
    Argument("params_file", "", "path of a YAML file with node parameters; given arguments override it"),
    Argument("log_level", "info", "minimum severity of log messages", ("debug", "info", "warn", "error", "fatal")),
    Argument("respawn", "false", "restart optional nodes (views, oracle) when they exit", BOOLEANS),
)


def robot_arguments(idle: str) -> tuple[Argument, ...]:
    """Arguments of every setup with a robot.

    Args:
        idle: default behaviour of joints without a command.
    """
    return (
        Argument(
            "idle",
            idle,
            "behaviour of joints without a current command: hold the position by a servo, or release the joint",
            ("hold", "release"),
        ),
        Argument("real_time_factor", "1.0", "simulated seconds per second; 0: as fast as possible"),
        Argument("oracle", "false", "compare all results with pinocchio and report on /diagnostics", BOOLEANS),
        Argument(
            "base_pose",
            "",
            "pose of the robot's world frame in the frame world: x, y, z [m] and yaw [rad]; requires frame_prefix; "
            "empty: unknown",
        ),
        *NODE_ARGUMENTS,
    )
