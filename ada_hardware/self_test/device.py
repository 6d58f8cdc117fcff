# SPDX-License-Identifier: Apache-2.0
"""Device under test: a real one at its address, or an emulated one started for the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError, unknown_name
from ada_hardware.emulation.emulated_link import base_name, fault_names
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.force_torque.pipeline import ForceSensorSettings
from ada_hardware.force_torque.rdt.calibration import parse_calibration
from ada_hardware.opening import DRY, EMULATOR, emulator_settings
from ada_hardware.registry import ROBOT, DeviceKind, find
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import checked

SAFETY, SENSOR_PREFIX, EMULATOR_PREFIX = "safety.", "sensor.", "emulator."


@dataclass(frozen=True)
class Target:
    """Device under test, its address, and its settings."""

    kind: DeviceKind  # kind of device
    url: str = ""  # address; "": start an emulator
    driver: Mapping[str, object] = field(default_factory=dict)  # settings of the driver, by name
    # settings of safety (robots) or processing (sensors), by name
    rules: Mapping[str, object] = field(default_factory=dict)
    emulator: Mapping[str, object] = field(default_factory=dict)  # settings of the emulator, by name
    faults: Mapping[str, float] = field(default_factory=dict)  # faults of the emulator and its connection, by name

    @property
    def is_robot(self) -> bool:
        """True for a robot."""
        return self.kind.kind == ROBOT

    @property
    def is_real(self) -> bool:
        """True if a real device may move; an address of an unknown kind counts as real."""
        return self.url not in ("", DRY, EMULATOR)

    def with_defaults(self, rules: Mapping[str, object]) -> Target:
        """Return a copy with other defaults of the rules."""
        return Target(self.kind, self.url, self.driver, {**rules, **self.rules}, self.emulator, self.faults)

    def safety(self) -> SafetySettings:
        """Safety settings of a robot. Raises InputError if they are invalid."""
        return checked(SafetySettings, self.rules, prefix=SAFETY)

    def sensing(self) -> ForceSensorSettings:
        """Processing settings of a sensor. Raises InputError if they are invalid."""
        return checked(ForceSensorSettings, self.rules, prefix=SENSOR_PREFIX)


def target(
    device: str,
    url: str = "",
    *,
    settings: Mapping[str, object] | None = None,
    faults: Mapping[str, float] | None = None,
) -> Target:
    """Create the description of a device under test.

    Args:
        device: name in the registry.
        url: address; "": start an emulator.
        settings: settings of the driver by name; with a prefix: "safety." (robots), "sensor.", "emulator.".
        faults: faults of the emulator.

    Raises:
        UnknownDevice: the device is unknown.
        InputError: unknown or invalid settings or faults.
    """
    kind = find(device)
    driver, rules, emulator = _sorted(kind, settings or {})
    for what, given in (("faults", faults), (f"settings {EMULATOR_PREFIX}...", emulator)):
        if given and url:
            raise InputError(
                f"{device}: {what} ({', '.join(given)}) apply to an emulated device; remove the address {url}."
            )
    if "url" in driver:
        raise InputError(f"{device}: give the address with --url {driver['url']}, not as a setting.")
    known = fault_names(kind.emulator_class())
    for name in faults or {}:  # before anything is started
        if name not in known and base_name(name) is None:
            raise unknown_name(f"fault of an emulated {device}", name, known)
    found = Target(kind, url, driver, rules, emulator, faults or {})
    _check(found)
    return found


def _check(what: Target) -> None:
    """Check values, angle maps and limits before anything is opened; raises InputError."""
    use = checked(what.kind.driver_class().SETTINGS, what.driver)
    checked(what.kind.emulator_class().SETTINGS, what.emulator, prefix=EMULATOR_PREFIX)
    if what.is_robot:
        driver, safety = what.kind.driver_class()(use), what.safety()
        JointRules(driver.limits, safety, driver.tool(safety.tool_offset))
    else:
        _ = what.sensing()


def _sorted(
    kind: DeviceKind, settings: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object], dict[str, object]]:
    """Split settings into those of driver, rules and emulator."""
    own = SAFETY if kind.kind == ROBOT else SENSOR_PREFIX
    found: dict[str, dict[str, object]] = {"": {}, own: {}, EMULATOR_PREFIX: {}}
    for name, value in settings.items():
        prefix, dot, rest = name.rpartition(".")
        if prefix + dot not in found:
            raise InputError(
                f"setting {name!r}: a {kind.kind} has settings of its driver (NAME), {own}NAME and "
                f"{EMULATOR_PREFIX}NAME; see `ada hw settings {kind.name}`."
            )
        found[prefix + dot][rest] = value
    return found[""], found[own], found[EMULATOR_PREFIX]


class Plugged(NamedTuple):
    """Device ready to be opened."""

    target: Target  # description of the device
    settings: Any  # settings of its driver, with the address
    emulator: EmulatorProcess | None  # emulator started for it

    @property
    def where(self) -> str:
        """Address for messages."""
        url = str(self.settings.url)
        return f"{url} (emulated)" if self.emulator is not None else url


@contextmanager
def plugged(what: Target) -> Iterator[Plugged]:
    """Start an emulator if there is no address, and end it afterwards.

    Raises:
        InputError: unknown settings or faults.
        TransportError: the emulator does not start.
    """
    kinds = what.kind.driver_class().SETTINGS
    if what.url:
        yield Plugged(what, checked(kinds, {**what.driver, "url": what.url}), None)
        return
    same = emulator_settings(what.kind.name, checked(kinds, what.driver))
    checked(what.kind.emulator_class().SETTINGS, {**same, **what.emulator}, prefix=EMULATOR_PREFIX)
    with EmulatorProcess(what.kind.name, {**same, **what.emulator}, faults=what.faults) as emulator:
        scales: dict[str, object] = {}
        if page := emulator.state().get("calibration"):  # an emulated Net F/T has no web page
            found = parse_calibration(page.encode(), emulator.url)
            scales = {"force_scale": found.force_scale, "moment_scale": found.moment_scale}
        yield Plugged(what, checked(kinds, {**scales, **what.driver, "url": emulator.url}), emulator)
