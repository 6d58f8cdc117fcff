# SPDX-License-Identifier: Apache-2.0
"""Topics of recordings: selection by patterns such as wrench/*, message definitions, offered QoS, lost messages.

A recording contains the definition of each message type and its nested types as one text, separated by lines of "="
(MCAP encoding `ros2msg`), so that viewers can read it without the packages.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError
from ada_dynamics.robots.addresses import ament_shares

CHATTER = ("/rosout", "/parameter_events")  # selected only by name
SHARED = ("/tf", "/tf_static", "/clock", "/diagnostics")  # shared by all namespaces
SEPARATOR = "=" * 80
_TYPE = re.compile(r"^[a-zA-Z]\w*(?:/msg)?/[a-zA-Z]\w*$")
_FIELD = re.compile(r"([a-zA-Z][\w/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+\w+(\s*=)?")  # type, constant
_PLAIN = frozenset(("bool", "byte", "char", "string", "wstring", "float32", "float64")) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def resolved(pattern: str, namespace: str = "/", node: str = "") -> str:
    """Absolute topic name or pattern; relative ones are in the namespace, ~ is the node."""
    above = namespace.rstrip("/")
    if pattern.startswith("/"):
        return pattern
    if pattern.startswith("~"):
        return f"{above}/{node}{pattern[1:]}"
    return f"{above}/{pattern}"


def is_wanted(topic: str, patterns: Sequence[str], namespace: str = "/") -> bool:
    """Return True if a topic is selected.

    Args:
        topic: absolute topic name.
        patterns: patterns from `resolved`; if empty, all topics in the namespace and the shared ones, except logs,
            parameter events and hidden topics with a leading underscore.
        namespace: namespace of the node.
    """
    if patterns:
        return any(fnmatchcase(topic, pattern) for pattern in patterns)
    if topic in CHATTER or "/_" in topic:
        return False
    return topic in SHARED or topic.startswith(namespace.rstrip("/") + "/")


def unmatched(patterns: Sequence[str], topics: Sequence[str]) -> list[str]:
    """Patterns without a matching topic."""
    return [pattern for pattern in patterns if not any(fnmatchcase(topic, pattern) for topic in topics)]


# --- message types ----------------------------------------------------------------------------------------------------
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
            waiting += _nested(texts[name], name)
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


def _nested(text: str, name: str) -> list[str]:
    """Message types of the fields of a type, without constants."""
    found = []
    for line in text.splitlines():
        match = _FIELD.match(line.split("#", 1)[0].strip())
        if match and not match[2] and match[1] not in _PLAIN:
            kind = "std_msgs/Header" if match[1] == "Header" else match[1]
            found.append(full_name(kind if "/" in kind else f"{name.split('/')[0]}/{kind}"))
    return found


# --- offered QoS ----------------------------------------------------------------------------------------------------
# The metadata `offered_qos_profiles` of ROS 2 bags with numeric policies, which all versions can read.
_TEXT = """\
- history: {history}
  depth: {depth}
  reliability: {reliability}
  durability: {durability}
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: 1
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false"""


class OfferedQos(NamedTuple):
    """Offered QoS of one publisher.

    Attributes:
        reliable: False for best effort.
        latched: transient local: late subscribers receive the last messages.
        depth: history depth; 0 if unknown.
    """

    reliable: bool = True
    latched: bool = False
    depth: int = 0

    @classmethod
    def of(cls, publisher: Any) -> OfferedQos:
        """Offered QoS of a publisher, from `get_publishers_info_by_topic`."""
        from rclpy.qos import DurabilityPolicy, HistoryPolicy, ReliabilityPolicy

        qos = publisher.qos_profile
        return cls(
            qos.reliability != ReliabilityPolicy.BEST_EFFORT,
            qos.durability == DurabilityPolicy.TRANSIENT_LOCAL,
            qos.depth if qos.history == HistoryPolicy.KEEP_LAST else 0,
        )

    def profile(self, depth: int) -> Any:
        """QoS profile of a publisher or subscriber."""
        from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

        return QoSProfile(
            depth=depth,
            reliability=ReliabilityPolicy.RELIABLE if self.reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if self.latched else DurabilityPolicy.VOLATILE,
        )


def qos_text(offers: Iterable[OfferedQos]) -> str:
    """Offers as text, as in ROS 2 bags."""
    return "\n".join(
        _TEXT.format(
            history=1 if offer.depth else 3,  # keep last, or unknown
            depth=offer.depth,
            reliability=1 if offer.reliable else 2,
            durability=1 if offer.latched else 2,
        )
        for offer in offers
    )


def accepting(offers: Sequence[OfferedQos]) -> OfferedQos:
    """Strictest QoS request that is compatible with all publishers."""
    return OfferedQos(all(offer.reliable for offer in offers), all(offer.latched for offer in offers))


# --- lost messages -------------------------------------------------------------------------------------------------
class SequenceGaps:
    """Sequence numbers of one topic, with one or more publishers that count independently.

    The sender of a message is unknown: a number that continues a known sequence is assigned to it. Any other number
    starts the sequence of a new publisher or, if all publishers are known, indicates a gap. The count is therefore
    correct once a message of each publisher was received.

    Attributes:
        lost: number of missing messages.
    """

    def __init__(self) -> None:
        """Start without publishers."""
        self.lost = 0
        self._publishers = 0
        self._last: list[int] = []

    def publishers(self, count: int) -> None:
        """Update the number of publishers."""
        self._publishers = max(self._publishers, count)

    def take(self, number: int) -> None:
        """Process the sequence number of a message."""
        if number - 1 in self._last:
            self._last[self._last.index(number - 1)] = number
            return
        before = [last for last in self._last if last < number]
        if not before or len(self._last) < self._publishers:
            self._last.append(number)
            return
        self.lost += number - max(before) - 1
        self._last[self._last.index(max(before))] = number
