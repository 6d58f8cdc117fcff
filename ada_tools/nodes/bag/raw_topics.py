# SPDX-License-Identifier: Apache-2.0
"""Topics with serialized messages: message classes by name, and QoS profiles; imports rclpy."""

from __future__ import annotations

import importlib
from typing import Any

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from ada_dynamics.errors import InputError
from ada_tools.nodes.bag.definitions import full_name
from ada_tools.nodes.bag.offered_qos import OfferedQos


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


def offer_of(publisher: Any) -> OfferedQos:
    """Offered QoS of a publisher, from `get_publishers_info_by_topic`."""
    qos = publisher.qos_profile
    return OfferedQos(
        qos.reliability != ReliabilityPolicy.BEST_EFFORT,
        qos.durability == DurabilityPolicy.TRANSIENT_LOCAL,
        qos.depth if qos.history == HistoryPolicy.KEEP_LAST else 0,
    )


def profile(offer: OfferedQos, depth: int | None = None) -> QoSProfile:
    """QoS profile of a publisher or subscriber."""
    return QoSProfile(
        depth=offer.depth if depth is None else depth,
        reliability=ReliabilityPolicy.RELIABLE if offer.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if offer.latched else DurabilityPolicy.VOLATILE,
    )
