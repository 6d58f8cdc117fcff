# SPDX-License-Identifier: Apache-2.0
"""Topics of recordings: selection by patterns such as wrench/*, offered QoS, lost messages; imports rclpy on demand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

CHATTER = ("/rosout", "/parameter_events")  # selected only by name
COMMANDS = (
    "joint_commands",
    "joint_trajectory",
    "joint_reference",
    "pose_reference",
    "external_wrench",
    "set_state",
)  # base names of topics that move robots
SHARED = ("/tf", "/tf_static", "/clock", "/diagnostics")  # shared by all namespaces


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


def moves_robots(topic: str) -> bool:
    """Return True if a topic of this name carries robot commands."""
    return topic.rsplit("/", 1)[-1] in COMMANDS


# --- offered QoS ----------------------------------------------------------------------------------------------------
DEPTH = 10  # for topics with unknown publishers
MOST_LATCHED = 100  # messages kept by a replay for late subscribers, if several publishers were latched
_RELIABLE, _TRANSIENT_LOCAL = {"1", "reliable"}, {"1", "transient_local"}
_VALUE = re.compile(r"\s*(?:-\s+)?(\w+):\s*(\w*)")
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


def read_qos(text: str) -> list[OfferedQos]:
    """Offers from the text of a ROS 2 bag, with numeric or named policies; missing values get defaults."""
    found = []
    for part in re.split(r"(?m)^\s*-(?=\s)", text):
        values = dict(_VALUE.findall(part))
        depth = values.get("depth", "")
        reliable = values.get("reliability", "1") in _RELIABLE
        latched = values.get("durability", "") in _TRANSIENT_LOCAL
        if part.strip():
            found.append(OfferedQos(reliable, latched, min(int(depth), MOST_LATCHED) if depth.isdecimal() else 0))
    return found


def accepting(offers: Sequence[OfferedQos]) -> OfferedQos:
    """Strictest QoS request that is compatible with all publishers."""
    return OfferedQos(all(offer.reliable for offer in offers), all(offer.latched for offer in offers))


def standing_for(offers: Sequence[OfferedQos], *, latched: bool = False) -> OfferedQos:
    """QoS of one publisher that replaces all these publishers and is compatible with all their subscribers.

    Args:
        offers: recorded offers; empty if unknown.
        latched: whether the topic is known to be latched, if there are no offers.
    """
    if not offers:
        return OfferedQos(True, latched, 1 if latched else DEPTH)
    keeps = any(offer.latched for offer in offers)
    depth = max(offer.depth for offer in offers)
    if keeps:
        depth = MOST_LATCHED if len(offers) > 1 else max(depth, 1)
    return OfferedQos(any(offer.reliable for offer in offers), keeps, depth or DEPTH)


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
