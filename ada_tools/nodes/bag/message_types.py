# SPDX-License-Identifier: Apache-2.0
"""Message types by name: their classes, and their definitions from the .msg files of installed packages.

A recording contains the definition of each message type and its nested types as one text, separated by lines of "="
(MCAP encoding `ros2msg`). Viewers can read it without the packages, and a replay detects changed types.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ada_dynamics.errors import InputError
from ada_dynamics.robots.addresses import ament_shares

SEPARATOR = "=" * 80
_PART = re.compile(r"^={80}\n(?:MSG: )", re.MULTILINE)
_TYPE = re.compile(r"^[a-zA-Z]\w*(?:/msg)?/[a-zA-Z]\w*$")
_FIELD = re.compile(r"([a-zA-Z][\w/]*)(<=\d+)?(\[[^\]]*\])?\s+(\w+)(\s*=)?")  # type, bound, array, name, constant
_PLAIN = frozenset(("bool", "byte", "char", "string", "wstring", "float32", "float64")) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
Fields = tuple[tuple[str, str, str], ...]  # type without bound and array, bound and array, and name of each field


def full_name(kind: str) -> str:
    """ROS 2 name of a type, package/msg/Name; also accepts package/Name.

    Raises:
        InputError: not a message type name.
    """
    if not _TYPE.match(kind):
        raise InputError(f"{kind!r} is not a message type; write it like sensor_msgs/msg/JointState.")
    package, *_, name = kind.split("/")
    return f"{package}/msg/{name}"


def message_class(kind: str) -> Any:
    """Class of a message type such as sensor_msgs/msg/JointState.

    Raises:
        InputError: not a message type, or its package is not installed.
    """
    package, _, name = full_name(kind).split("/")
    try:
        found = getattr(importlib.import_module(f"{package}.msg"), name, None)
    except ImportError:
        raise InputError(f"the package {package} of {kind} is not installed.") from None
    if found is None:
        raise InputError(f"the installed package {package} has no message {name}.")
    return found


def definition(kind: str, folders: Iterable[Path] | None = None) -> str:
    """Definition of a type and its nested types.

    Args:
        kind: type name such as sensor_msgs/msg/JointState.
        folders: share folders to search; default: those of each ROS 2 prefix, and of this Python environment for
            wheels from PyPI.

    Raises:
        InputError: the .msg file of the type or a nested type is missing.
    """
    places = list(dict.fromkeys([*ament_shares(), Path(sys.prefix) / "share"]) if folders is None else folders)
    texts: dict[str, str] = {}
    waiting = [full_name(kind)]
    while waiting:
        name = waiting.pop(0)
        if name not in texts:
            texts[name] = _installed(name, places)
            waiting += [inner for inner, _, _ in _fields(texts[name], name) if inner not in _PLAIN]
    own, *nested = texts
    parts = [f"{SEPARATOR}\nMSG: {name.replace('/msg/', '/')}\n{texts[name]}" for name in nested]
    return "\n".join([texts[own], *parts])


def _installed(name: str, folders: list[Path]) -> str:
    package, _, short = name.split("/")
    for folder in folders:
        path = folder / package / "msg" / f"{short}.msg"
        try:
            return path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(f"{path}, the definition of {name}, cannot be read: {problem}.") from None
    searched = ", ".join(str(folder / package / "msg") for folder in folders) or "no folder"
    raise InputError(f"{name} has no installed definition {short}.msg in {searched}; install the package {package}.")


def _fields(text: str, name: str) -> Fields:
    """Fields of one type; comments, constants and default values do not affect the serialization."""
    found = []
    for line in text.splitlines():
        match = _FIELD.match(line.split("#", 1)[0].strip())
        if match and not match[5]:
            found.append((_resolved(match[1], name), (match[2] or "") + (match[3] or ""), match[4]))
    return tuple(found)


def _resolved(kind: str, within: str) -> str:
    if kind in _PLAIN:
        return kind
    if kind == "Header":
        return "std_msgs/msg/Header"
    return full_name(kind if "/" in kind else f"{within.split('/')[0]}/{kind}")


def layout(kind: str, text: str) -> Mapping[str, Fields]:
    """Fields of a type and its nested types, from a definition text.

    Raises:
        InputError: the text lacks a nested type.
    """
    own, *parts = _PART.split(text)
    texts = {full_name(kind): own}
    for part in parts:
        name, _, rest = part.partition("\n")
        texts.setdefault(full_name(name.strip()), rest)
    found: dict[str, Fields] = {}
    waiting = [full_name(kind)]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if name not in texts:
            raise InputError(f"the definition of {kind} lacks the nested type {name}.")
        found[name] = _fields(texts[name], name)
        waiting += [inner for inner, _, _ in found[name] if inner not in _PLAIN]
    return found
