# SPDX-License-Identifier: Apache-2.0
"""Identity of an open robot and mismatches with its settings; nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ada_robot.errors import HardwareError

_SLACK = 1e-3  # [rad] tolerance for rounding of stored limits
Identity = tuple[str, str, dict[str, object]]


def identity_of(driver: Any) -> Identity:
    """Return the identity of an open, not started driver: text, mismatches ("" if none), figures.

    Raises:
        HardwareError: no answer.
    """
    text, problems, figures = _KNOWN.get(driver.NAME, _unknown)(driver)
    common = f"{len(driver.joints)} joints, {' or '.join(sorted(mode.value for mode in driver.modes))}"
    return f"{text}; {common}" if text else common, problems, figures


def _pa10(driver: Any) -> Identity:
    """Compare the limits with those stored in the controller, for variants whose format is known."""
    settings = driver.settings
    text, figures = f"PA-10, variant {settings.variant}, {settings.axes} axes", {"variant": settings.variant}
    if settings.variant != "7c":  # not documented for a ce (docs/pa10_hardware.md)
        return text, "", figures
    wider, stored = [], {}
    try:
        for limit in driver.limits:
            data = driver.read_axis_data(limit.name)
            stored[limit.name] = [data.lower, data.upper]
            if limit.lower < data.lower - _SLACK or limit.upper > data.upper + _SLACK:
                wider.append(
                    f"{limit.name} [{limit.lower:.4g}, {limit.upper:.4g}], stored [{data.lower:.4g}, {data.upper:.4g}]"
                )
    except HardwareError as problem:
        return f"{text}; stored limits cannot be read ({problem})", "", figures
    figures["stored_limits_rad"] = stored
    if wider:
        what = f"limits exceed those stored in the controller: {'; '.join(wider)}. Narrow safety.position_lower/upper"
        return text, what, figures
    return f"{text}; limits within the stored ones", "", figures


def _khr1(driver: Any) -> Identity:
    ids, home = driver.board_ids, driver.home_position()
    return f"boards RCB-1 with IDs {' and '.join(map(str, ids))}", "", {"ids": ids, "home_rad": home.tolist()}


def _khr3(driver: Any) -> Identity:
    return f"board RCB-4, version {driver.version or 'unknown'}", "", {"version": driver.version}


def _hexa(driver: Any) -> Identity:
    return "table HEXA, packets of version 1", "", {}


def _unknown(driver: Any) -> Identity:
    return "", "", {}


_KNOWN: Mapping[str, Callable[[Any], Identity]] = {"pa10": _pa10, "khr1": _khr1, "khr3": _khr3, "hexa": _hexa}
