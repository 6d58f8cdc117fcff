# SPDX-License-Identifier: Apache-2.0
"""Offers of publishers (reliability, durability, depth), and its text in recordings; no rclpy in here.

The text is that of ROS 2 bags (`offered_qos_profiles` of a channel), with numbers for policies: all of them read those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

DEPTH = 10  # of topics whose publishers are not known
MOST_LATCHED = 100  # messages that a replay keeps for late subscribers, where several publishers kept some
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


class Offer(NamedTuple):
    """The offer of one publisher.

    Attributes:
        reliable: else best effort.
        latched: late subscribers get the last messages ("transient local").
        depth: how many are kept; 0 if that is not known.
    """

    reliable: bool = True
    latched: bool = False
    depth: int = 0


def to_text(offers: Iterable[Offer]) -> str:
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


def of_text(text: str) -> list[Offer]:
    """Offers in a text of ROS 2 bags, with numbers or with words for the policies; what it does not say is usual."""
    return [_offer(dict(_VALUE.findall(part))) for part in re.split(r"(?m)^\s*-(?=\s)", text) if part.strip()]


def _offer(values: dict[str, str]) -> Offer:
    depth = values.get("depth", "")
    return Offer(
        reliable=values.get("reliability", "1") in _RELIABLE,
        latched=values.get("durability", "") in _TRANSIENT_LOCAL,
        depth=min(int(depth), MOST_LATCHED) if depth.isdecimal() else 0,
    )


def accepting(offers: Sequence[Offer]) -> Offer:
    """The request of a subscriber that wants the best of what all of these publishers offer."""
    return Offer(all(offer.reliable for offer in offers), all(offer.latched for offer in offers))


def standing_for(offers: Sequence[Offer], *, latched: bool = False) -> Offer:
    """The offer of one publisher in place of all these: no subscriber that any of them served goes without.

    Args:
        offers: those that were recorded; none if that is not known.
        latched: whether the topic is known to keep its last message, where there are no offers.
    """
    if not offers:
        return Offer(True, latched, 1 if latched else DEPTH)
    keeps = any(offer.latched for offer in offers)
    depth = max(offer.depth for offer in offers)
    if keeps:
        depth = MOST_LATCHED if len(offers) > 1 else max(depth, 1)
    return Offer(any(offer.reliable for offer in offers), keeps, depth or DEPTH)
