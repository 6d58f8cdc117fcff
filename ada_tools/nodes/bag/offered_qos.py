# SPDX-License-Identifier: Apache-2.0
"""Offered QoS of publishers (reliability, durability, depth), and its text in recordings; imports no rclpy.

The text is the `offered_qos_profiles` metadata of ROS 2 bags with numeric policies, which all versions can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

DEPTH = 10  # for topics with unknown publishers
MOST_LATCHED = 100  # messages kept by a replay for late subscribers, if several publishers were latched
_RELIABLE, _TRANSIENT_LOCAL = {"1", "reliable"}, {"1", "transient_local"}
_VALUE = re.compile(r"\s*(?:-\s+)?(\w+):\s*(\w*)")
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


def to_text(offers: Iterable[OfferedQos]) -> str:
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


def of_text(text: str) -> list[OfferedQos]:
    """Offers from the text of a ROS 2 bag, with numeric or named policies; missing values get defaults."""
    return [_offer(dict(_VALUE.findall(part))) for part in re.split(r"(?m)^\s*-(?=\s)", text) if part.strip()]


def _offer(values: dict[str, str]) -> OfferedQos:
    depth = values.get("depth", "")
    return OfferedQos(
        reliable=values.get("reliability", "1") in _RELIABLE,
        latched=values.get("durability", "") in _TRANSIENT_LOCAL,
        depth=min(int(depth), MOST_LATCHED) if depth.isdecimal() else 0,
    )


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
