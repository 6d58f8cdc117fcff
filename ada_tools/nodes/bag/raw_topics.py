# SPDX-License-Identifier: Apache-2.0
"""Topics whose messages are passed on as bytes: their types by name, and their quality of service; imports rclpy."""

from __future__ import annotations

import importlib
from typing import Any

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from ada_dynamics.errors import InputError
from ada_tools.nodes.bag.definitions import full_name
from ada_tools.nodes.bag.offered_qos import Offer


def message_class(kind: str) -> Any:
    """The class of a type of messages, such as sensor_msgs/msg/JointState.

    Raises:
        InputError: it is no type of messages, or its package is not installed.
    """
    package, _, name = full_name(kind).split("/")
    try:
        found = getattr(importlib.import_module(f"{package}.msg"), name, None)
    except ImportError:
        raise InputError(f"the package {package} of {kind} is not installed.") from None
    if found is None:
        raise InputError(f"the installed package {package} has no message {name}.")
    return found


def offer_of(publisher: Any) -> Offer:
    """The offer of a publisher, as the graph knows it (`get_publishers_info_by_topic`)."""
    qos = publisher.qos_profile
    return Offer(
        qos.reliability != ReliabilityPolicy.BEST_EFFORT,
        qos.durability == DurabilityPolicy.TRANSIENT_LOCAL,
        qos.depth if qos.history == HistoryPolicy.KEEP_LAST else 0,
    )


def profile(offer: Offer, depth: int | None = None) -> QoSProfile:
    """The profile of a publisher or of a subscriber that offers or asks for this much."""
    return QoSProfile(
        depth=offer.depth if depth is None else depth,
        reliability=ReliabilityPolicy.RELIABLE if offer.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if offer.latched else DurabilityPolicy.VOLATILE,
    )
