# SPDX-License-Identifier: Apache-2.0
"""The policy of SROS2 as tests read it: names resolved as `ros2 security create_permission` resolves them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from fnmatch import fnmatchcase
from pathlib import Path

from ada_dynamics import resources

RULES = {  # attribute of a list: what a node may do with its names
    "topics": ("publish", "subscribe"),
    "services": ("reply", "request"),
}


def path() -> Path:
    return resources.find("config", "sros2/policy.xml")


def profiles() -> dict[str, ElementTree.Element]:
    found = ElementTree.parse(path()).getroot().iter("profile")
    return {profile.attrib["node"]: profile for profile in found}


def allowed(node: str, rule: str) -> list[str]:
    """Full names, or patterns of them, under a rule: "publish", "subscribe", "reply" or "request"."""
    profile = profiles()[node]
    names = [(one.text or "").strip() for part in profile if part.attrib.get(rule) == "ALLOW" for one in part]
    above = profile.attrib["ns"].rstrip("/")
    return [name if name[0] == "/" else f"{above}/{name.replace('~', node, 1)}" for name in names]


def refused(node: str, rule: str, names: set[str]) -> set[str]:
    """Those of some names that the policy does not allow."""
    patterns = allowed(node, rule)
    return {name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)}


def unused(node: str, rule: str, names: set[str]) -> set[str]:
    return {pattern for pattern in allowed(node, rule) if not any(fnmatchcase(name, pattern) for name in names)}
