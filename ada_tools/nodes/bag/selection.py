# SPDX-License-Identifier: Apache-2.0
"""Selection of topics by names or patterns such as wrench/*; imports no rclpy."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

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
