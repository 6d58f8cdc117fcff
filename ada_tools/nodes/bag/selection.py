# SPDX-License-Identifier: Apache-2.0
"""Selection of topics: names, patterns such as wrench/*, or all; no rclpy in here."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

CHATTER = ("/rosout", "/parameter_events")  # taken only where they are named
COMMANDS = (
    "joint_commands",
    "joint_trajectory",
    "joint_reference",
    "pose_reference",
    "external_wrench",
    "set_state",
)  # last names of topics that move robots
SHARED = ("/tf", "/tf_static", "/clock", "/diagnostics")  # of all namespaces


def resolved(pattern: str, namespace: str = "/", node: str = "") -> str:
    """A name or pattern as seen from everywhere: relative ones are in the namespace, ~ is the node."""
    above = namespace.rstrip("/")
    if pattern.startswith("/"):
        return pattern
    if pattern.startswith("~"):
        return f"{above}/{node}{pattern[1:]}"
    return f"{above}/{pattern}"


def is_wanted(topic: str, patterns: Sequence[str], namespace: str = "/") -> bool:
    """True if a topic is meant.

    Args:
        topic: its full name.
        patterns: as `resolved` makes them; none: all in the namespace and those that all namespaces share, but for
            logs, changes of parameters and hidden topics, which begin with an underscore.
        namespace: of the node that asks.
    """
    if patterns:
        return any(fnmatchcase(topic, pattern) for pattern in patterns)
    if topic in CHATTER or "/_" in topic:
        return False
    return topic in SHARED or topic.startswith(namespace.rstrip("/") + "/")


def unmatched(patterns: Sequence[str], topics: Sequence[str]) -> list[str]:
    """Patterns that no topic fits."""
    return [pattern for pattern in patterns if not any(fnmatchcase(topic, pattern) for topic in topics)]


def moves_robots(topic: str) -> bool:
    """True if a robot does what is said on a topic of this name."""
    return topic.rsplit("/", 1)[-1] in COMMANDS
