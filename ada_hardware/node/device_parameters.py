# SPDX-License-Identifier: Apache-2.0
"""Parameters of all devices of the hardware node; imports rclpy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from rclpy.node import Node

from ada_dynamics.errors import InputError
from ada_hardware.force_torque.sensor import ForceSensorSettings
from ada_hardware.node.hardware_settings import DevicePlan, DeviceSettings, HardwareSettings
from ada_hardware.opening import DRY
from ada_hardware.registry import DRIVEN, ROBOT, SENSOR, DeviceKind
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import fields_of

DRIVER, SAFETY, WRENCH = "driver", "safety", "sensor"  # prefixes after the name of a device
_PART = r"[A-Za-z_][A-Za-z0-9_]*"
_TOPICS = {"prefix": rf"(/?({_PART}/)+)?", "topic": rf"(~/|/)?{_PART}(/{_PART})*"}
_OF_ROBOTS, _OF_SENSORS = ("prefix", "model", "place"), ("topic", "frame")


class DeviceParameters:
    """Declares the parameters of the devices of a node.

    Names, kinds and topics are fixed; settings of drivers, safety and sensors can change while no device is open.
    """

    def __init__(
        self,
        node: Node,
        settings: HardwareSettings,
        is_open: Callable[[], bool],
        lower_tool_speed: Callable[[str, float], None],
    ) -> None:
        """Declare the parameters.

        Args:
            node: node of the parameters; its other parameters are already declared.
            settings: settings of the node.
            is_open: returns True while the devices are open; then only limits can be lowered.
            lower_tool_speed: called with the name of an open robot and its new tool speed limit [m/s].

        Raises:
            InputError: invalid value; the message names the parameter.
        """
        self._settings, self._is_open, self._lower_tool_speed = settings, is_open, lower_tool_speed
        self._groups: dict[str, tuple[DeviceKind, Parameters[DeviceSettings], Parameters[Any], Parameters[Any]]] = {}
        for name in _names(settings):
            self._groups[name] = self._declared(node, name)
        refuse_unknown_overrides(node)
        _refuse_clashes(self.plans())

    def plans(self) -> list[DevicePlan]:
        """Return the devices with their present parameters."""
        return [
            DevicePlan(name, kind, own.value, self._addressed(name, driver.value), rules.value)
            for name, (kind, own, driver, rules) in self._groups.items()
        ]

    def _declared(
        self, node: Node, name: str
    ) -> tuple[DeviceKind, Parameters[DeviceSettings], Parameters[Any], Parameters[Any]]:
        is_only = bool(self._settings.device)
        beside = (DRIVER, SAFETY, WRENCH)
        own = Parameters(node, DeviceSettings, prefix=name, beside=beside, on_change=self._refuse_if_open)
        kind = DRIVEN.get(own.value.kind or (name if is_only else ""))
        if kind is None:
            raise InputError(f"parameter {name}.kind is not set; it must be one of {', '.join(DRIVEN)}.")
        if is_only and kind.name != name:
            raise InputError(
                f"parameter {name}.kind is {kind.name!r}, but device is {name!r}. Remove {name}.kind, or name "
                "devices by the parameter devices."
            )
        _refuse_foreign(name, kind, own.value)
        is_robot = kind.kind == ROBOT
        rules_class, prefix = (SafetySettings, SAFETY) if is_robot else (ForceSensorSettings, WRENCH)
        change = partial(self._change_safety, name) if is_robot else self._refuse_if_open
        driver_class: type[Any] = kind.driver_class().SETTINGS
        driver = Parameters(node, driver_class, prefix=f"{name}.{DRIVER}", on_change=self._refuse_if_open)
        rules: Parameters[Any] = Parameters(node, rules_class, prefix=f"{name}.{prefix}", on_change=change)
        return kind, own, driver, rules

    def _addressed(self, name: str, driver: Any) -> Any:
        """Settings of a driver with the effective address."""
        settings = self._settings
        if settings.dry_run:
            return replace(driver, url=DRY)
        if not settings.device or not settings.url:
            return driver
        if driver.url and driver.url != settings.url:
            raise InputError(
                f"parameter url is {settings.url!r}, but {name}.{DRIVER}.url is {driver.url!r}; set only one of them."
            )
        return replace(driver, url=settings.url)

    def _change_safety(self, name: str, _old: object, new: SafetySettings) -> None:
        """Lower the tool speed at any time; other changes require closed devices."""
        present: SafetySettings = self._groups[name][3].value
        if new == present:
            return  # rejected change of another parameter: a lowered speed is kept
        new.require_no_faster(present)
        if not self._is_open():
            return
        if replace(new, **present.tool_speeds) != present:
            self._refuse_if_open(present, new)
        if new.greatest_tool_speed < present.greatest_tool_speed:
            self._lower_tool_speed(name, new.greatest_tool_speed)

    def _refuse_if_open(self, _old: object, _new: object) -> None:
        if self._is_open():
            raise InputError("applies only when the devices are opened: clean up the node first (lifecycle).")


def _names(settings: HardwareSettings) -> list[str]:
    """Names of the devices; raises InputError."""
    if settings.device and settings.devices:
        raise InputError("parameters device and devices are both set; device is for a single device: remove it.")
    if settings.device:
        return [settings.device]
    if not settings.devices:
        raise InputError(
            f"no device: set the parameter device to one of {', '.join(DRIVEN)}, or devices to a list of names, each "
            "with its NAME.kind."
        )
    if settings.url:
        raise InputError("parameter url is for the parameter device; with several devices set NAME.driver.url of each.")
    taken = {one.name for one in fields_of(HardwareSettings)}
    for name in settings.devices:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in taken:
            raise InputError(
                f"parameter devices: {name!r} is not a valid device name; use lower-case letters, digits and "
                "underscores, starting with a letter, and not the name of another parameter."
            )
    if len(set(settings.devices)) != len(settings.devices):
        raise InputError(f"parameter devices is {list(settings.devices)}: duplicate name.")
    return list(settings.devices)


def _refuse_foreign(name: str, kind: DeviceKind, own: DeviceSettings) -> None:
    """Refuse settings that do not apply to this kind of device."""
    foreign, whose = (_OF_SENSORS, SENSOR) if kind.kind == ROBOT else (_OF_ROBOTS, ROBOT)
    default = DeviceSettings()
    for one in foreign:
        if getattr(own, one) != getattr(default, one):
            raise InputError(
                f"parameter {name}.{one} applies to a {whose}, but {name} ({kind.name}) is not one; remove it."
            )
    for one, pattern in _TOPICS.items():
        if not re.fullmatch(pattern, getattr(own, one)):
            raise InputError(
                f"parameter {name}.{one} is {getattr(own, one)!r}; required is a ROS 2 topic name "
                f"{'with a trailing slash' if one == 'prefix' else 'without a trailing slash'}: letters, digits, "
                "underscores and slashes, no part starting with a digit."
            )


def _refuse_clashes(plans: list[DevicePlan]) -> None:
    """Refuse devices with the same topics."""
    used: dict[tuple[str, str], str] = {}
    for plan in plans:
        is_robot = plan.kind.kind == ROBOT
        what, value = ("prefix", plan.settings.prefix) if is_robot else ("topic", plan.settings.topic)
        other = used.setdefault((what, value), plan.name)
        if other != plan.name:
            raise InputError(
                f"devices {other} and {plan.name} would have the same topics; set {plan.name}.{what} to another value "
                f"than {value!r}."
            )
