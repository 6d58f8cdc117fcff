# SPDX-License-Identifier: Apache-2.0
"""Required and optional packages, from the metadata of this package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NamedTuple

from ada_dynamics.extras import NAME, how_to_install
from ada_hardware.self_test.checks import Checks

# Features of each extra; extras of developers are omitted, ROS has a separate check.
PURPOSES = {
    "view": "browser view, `ada demo`, meshes",
    "tools": "plots, animations, mesh hulls, excitation trajectories",
    "record": "recordings (.mcap)",
    "xacro": "robots in .xacro files",
    "hardware": "serial devices",
    "cluster": "sweeps over several machines",
    "torch": "dynamics in torch, with gradients (`ada.torch`)",
    "jax": "dynamics in JAX, with gradients (`ada.jax`)",
    "casadi": "CasADi functions (`ada.casadi`)",
    "gym": "Gymnasium environments (`ada.gym`)",
    "oracle": "other dynamics engines for comparison",
    "bench": "another inverse kinematics for comparison",
}
_NOT_FOR_USERS = ("test", "dev", "docs", "ros")
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*\(?(?P<range>[^;)]*)\)?(?:;(?P<marker>.*))?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_BOUND = re.compile(r"(>=|<=|==|<|>)\s*([\d.]+)")


class Requirement(NamedTuple):
    """A required package with its version range."""

    name: str
    range: str

    @property
    def installed(self) -> str:
        """Installed version; "" if missing."""
        try:
            return version(self.name)
        except PackageNotFoundError:
            return ""

    @property
    def problem(self) -> str:
        """Reason why the installed version is not suitable; "" if it is."""
        found = self.installed
        if not found:
            return f"{self.name} is not installed"
        return "" if is_within(found, self.range) else f"{self.name} is {found}, wanted {self.range}"


def is_within(found: str, bounds: str) -> bool:
    """Return True if a version is in a range such as ">=1.6,<2"."""
    compare = {
        ">=": lambda a, b: a >= b,
        "<=": lambda a, b: a <= b,
        "==": lambda a, b: a == b,
        "<": lambda a, b: a < b,
        ">": lambda a, b: a > b,
    }
    return all(compare[sign](_numbers(found), _numbers(bound)) for sign, bound in _BOUND.findall(bounds))


def _numbers(text: str) -> tuple[int, ...]:
    """Release numbers of a version without trailing zeros."""
    release = re.match(r"\d+(?:\.\d+)*", text)
    numbers = [int(part) for part in release[0].split(".")] if release else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def requirements() -> Mapping[str, list[Requirement]]:
    """Requirements by extra, "" for required packages; empty if the package was not installed by pip."""
    try:
        lines = requires(NAME) or []
    except PackageNotFoundError:
        return {}
    found: dict[str, list[Requirement]] = {}
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is None:
            continue
        extra = _EXTRA.search(match["marker"] or "")
        found.setdefault(extra[1] if extra else "", []).append(Requirement(match["name"], match["range"].strip()))
    return found


def check_packages(checks: Checks, wanted: Mapping[str, list[Requirement]] | None = None) -> None:
    """Check the required packages, then each extra with its features and install command."""
    wanted = requirements() if wanted is None else wanted
    if not wanted:
        checks.leave_out("packages", f"{NAME} was not installed by pip: no package list")
    for one in wanted.get("", []):
        checks.judge(one.name, one.problem and f"{one.problem}: pip install '{one.name}{one.range}'", one.installed)
    for extra in sorted(wanted.keys() - {"", *_NOT_FOR_USERS}, key=lambda name: [*PURPOSES, name].index(name)):
        _check_extra(checks, extra, wanted[extra])


def _check_extra(checks: Checks, extra: str, wanted: list[Requirement]) -> None:
    purpose = PURPOSES.get(extra, "")
    lacking = [one.name for one in wanted if not one.installed]
    problems = [one.problem for one in wanted if one.installed and one.problem]
    if lacking or problems:
        remarks = [*([f"without {', '.join(lacking)}"] if lacking else []), *problems]
        brings = f" It provides {purpose}:" if purpose else ""
        checks.miss(f"extra {extra}", f"{', '.join(remarks)}.{brings} {how_to_install(extra)}")
    else:
        have = ", ".join(f"{one.name} {one.installed}" for one in wanted)
        checks.ok(f"extra {extra}", f"{purpose} ({have})" if purpose else have)
