# SPDX-License-Identifier: Apache-2.0
"""Arguments `name:=value` of setups, and the checks of their values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ada_dynamics import resources
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.robots.catalogue import CATALOGUE

_LAST_PORT = 65535
# Relative or absolute ROS names, parts between slashes.
_NAMESPACE = re.compile(r"/|/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass(frozen=True)
class Argument:
    """One launch argument."""

    name: str  # name, which also selects the check of values without choices
    default: str  # default value
    description: str  # one-sentence description
    choices: tuple[str, ...] = ()  # allowed values; empty for free text

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
        if self.name not in _CHECKS:
            return text
        normalize, allowed = _CHECKS[self.name]
        try:
            return normalize(text)
        except ValueError:
            pass
        reason = f"it must be {allowed}."
        if self.name == "robot" and "/" not in text and not Path(text).suffix:
            reason = str(unknown_name("file or robot of the catalogue", text, CATALOGUE))
        raise unusable(self.name, text, reason)


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


def numbers(text: str) -> list[float]:
    """Parse numbers separated or enclosed by spaces, commas, semicolons or brackets.

    Raises:
        ValueError: the text contains anything else.
    """
    return [float(word) for word in re.sub(r"[\[\],;]", " ", text).split()]


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


# --- normalized values; ValueError for values that are not allowed ---------------------------------------------------
def _valid(text: str, is_valid: bool) -> str:
    if not is_valid:
        raise ValueError(text)
    return text


def _pose(text: str) -> str:
    """Numbers, the count of which is checked by the node."""
    return " ".join(map(repr, numbers(text)))


def _goal(text: str) -> str:
    """Text for `joint_positions`; the controller checks the joints and their limits."""
    joint_positions(text)
    return text


def _file(text: str) -> str:
    """Absolute path of an existing file, as nodes may run in other directories; or empty text."""
    path = Path(text).expanduser().absolute()
    return _valid(str(path), path.is_file()) if text else text


def _settings_file(text: str) -> str:
    """Path of a file, or of a named file in config/."""
    if text and not Path(text).expanduser().is_file():
        with suppress(InputError):
            return str(resources.find("config", text))
    return _file(text)


def _namespace(text: str) -> str:
    """Relative or absolute namespace; empty for none."""
    return "" if text == "/" else _valid(text, not text or _NAMESPACE.fullmatch(text) is not None)


# Normalization and allowed values of arguments without choices; all others accept any text.
_EXISTING = "the path of an existing file"
_CHECKS: Mapping[str, tuple[Callable[[str], str], str]] = {
    "angle_map": (_file, _EXISTING),
    "base_pose": (_pose, "numbers, x, y, z [m] and yaw [rad], such as '0.5 0 0 1.57'"),
    "goal": (_goal, "JOINT=POSITION [rad, m], such as shoulder=0.5,elbow=-0.2"),
    "loops": (_file, _EXISTING),
    "namespace": (
        _namespace,
        "letters, digits and underscores, in parts that start with a letter, such as /cell_1/left",
    ),
    "params_file": (_settings_file, f"{_EXISTING}, or the name of one in config/"),
    "real_time_factor": (lambda text: _valid(text, 0.0 <= float(text) < math.inf), "a number, 0 or more"),
    "robot": (lambda text: text if text in CATALOGUE else _file(text), _EXISTING),
    "target": (lambda text: _valid(text, math.isfinite(float(text or 0.0))), "a number, or empty"),
    "view_port": (
        lambda text: _valid(text, text.isdecimal() and int(text) <= _LAST_PORT),
        f"a port from 1 to {_LAST_PORT}, or 0 for any free one",
    ),
}
