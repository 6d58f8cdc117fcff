# SPDX-License-Identifier: Apache-2.0
"""The parameters of all devices of the hardware node, and the devices that they describe; imports rclpy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from rclpy.node import Node

from ada_dynamics.errors import InputError
from ada_hardware.force_torque.sensor import ForceSensorSettings
from ada_hardware.node.device_plan import DevicePlan
from ada_hardware.node.hardware_settings import DeviceSettings, HardwareSettings
from ada_hardware.node.mounts import check_mounts
from ada_hardware.opening import DRY
from ada_hardware.registry import DRIVEN, ROBOT, SENSOR, DeviceKind
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import fields_of

DRIVER, SAFETY, WRENCH = "driver", "safety", "sensor"  # prefixes behind a device's name
_PART = r"[A-Za-z_][A-Za-z0-9_]*"
_TOPICS = {"prefix": rf"(/?({_PART}/)+)?", "topic": rf"(~/|/)?{_PART}(/{_PART})*"}
_OF_ROBOTS, _OF_SENSORS = ("prefix", "model", "place"), ("topic", "frame", "parent", "mounting")


class DeviceParameters:
    """Declares what is there for the devices that a node was started with.

    Their names, kinds and topics stay; settings of drivers, of safety and of sensors can change while no device is
    open.
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
            node: whose they are; all its other parameters are declared.
            settings: of the node.
            is_open: whether the devices are, so that nothing about them may change but what lowers a limit.
            lower_tool_speed: called with a robot that is open, and the greatest speed of its tool [m/s].

        Raises:
            InputError: naming the parameter that cannot be.
        """
        self._settings, self._is_open, self._lower_tool_speed = settings, is_open, lower_tool_speed
        self._groups: dict[str, tuple[DeviceKind, Parameters[DeviceSettings], Parameters[Any], Parameters[Any]]] = {}
        for name in _names(settings):
            self._groups[name] = self._declared(node, name)
        refuse_unknown_overrides(node)
        plans = self.plans()
        _refuse_clashes(plans)
        check_mounts(plans, settings.world_frame)

    def plans(self) -> list[DevicePlan]:
        """The devices, as the parameters are now."""
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
                f"parameter {name}.kind is {kind.name!r}, but device is {name!r}. Leave {name}.kind out, or name "
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
        """Settings of a driver with the address that is in force."""
        settings = self._settings
        if settings.dry_run:
            return replace(driver, url=DRY)
        if not settings.device or not settings.url:
            return driver
        if driver.url and driver.url != settings.url:
            raise InputError(
                f"parameter url is {settings.url!r}, but {name}.{DRIVER}.url is {driver.url!r}; give one of them."
            )
        return replace(driver, url=settings.url)

    def _change_safety(self, name: str, _old: object, new: SafetySettings) -> None:
        """The tool's speed is lowered at any time and never raised; all else changes while nothing is open."""
        present: SafetySettings = self._groups[name][3].value
        if new == present:
            return  # taken back, for something else in the request was refused: a robot that was slowed stays so
        new.require_no_faster(present)
        if not self._is_open():
            return
        if replace(new, **present.tool_speeds) != present:
            self._refuse_if_open(present, new)
        if new.greatest_tool_speed < present.greatest_tool_speed:
            self._lower_tool_speed(name, new.greatest_tool_speed)

    def _refuse_if_open(self, _old: object, _new: object) -> None:
        if self._is_open():
            raise InputError("it is taken over when the devices are opened: clean the node up first (lifecycle).")


def _names(settings: HardwareSettings) -> list[str]:
    """Names of the devices.

    Raises:
        InputError: none, both ways at once, or names that cannot be.
    """
    if settings.device and settings.devices:
        raise InputError("parameters device and devices are both given; device is for one alone: leave it out.")
    if settings.device:
        return [settings.device]
    if not settings.devices:
        raise InputError(
            f"no device is named: set the parameter device to one of {', '.join(DRIVEN)}, or devices to a list of "
            "names, each with its NAME.kind."
        )
    if settings.url:
        raise InputError("parameter url is for the parameter device; with several devices set NAME.driver.url of each.")
    taken = {one.name for one in fields_of(HardwareSettings)}
    for name in settings.devices:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in taken:
            raise InputError(
                f"parameter devices: {name!r} cannot be a device's name; take small letters, digits and underscores, "
                "beginning with a letter, and no name of another parameter."
            )
    if len(set(settings.devices)) != len(settings.devices):
        raise InputError(f"parameter devices is {list(settings.devices)}: a name is there twice.")
    return list(settings.devices)


def _refuse_foreign(name: str, kind: DeviceKind, own: DeviceSettings) -> None:
    """Settings that mean nothing to this kind of device."""
    foreign, whose = (_OF_SENSORS, SENSOR) if kind.kind == ROBOT else (_OF_ROBOTS, ROBOT)
    default = DeviceSettings()
    for one in foreign:
        if getattr(own, one) != getattr(default, one):
            raise InputError(
                f"parameter {name}.{one} is for a {whose}, and {name} ({kind.name}) is none; leave it out."
            )
    for one, pattern in _TOPICS.items():
        if not re.fullmatch(pattern, getattr(own, one)):
            raise InputError(
                f"parameter {name}.{one} is {getattr(own, one)!r}; it must be a name of a topic as ROS 2 has them, "
                f"{'with a slash behind it' if one == 'prefix' else 'without one at its end'}: letters, digits, "
                "underscores and slashes, no part beginning with a digit."
            )


def _refuse_clashes(plans: list[DevicePlan]) -> None:
    """Two devices with the same topics."""
    used: dict[tuple[str, str], str] = {}
    for plan in plans:
        is_robot = plan.kind.kind == ROBOT
        what, value = ("prefix", plan.settings.prefix) if is_robot else ("topic", plan.settings.topic)
        other = used.setdefault((what, value), plan.name)
        if other != plan.name:
            raise InputError(
                f"devices {other} and {plan.name} would have the same topics; set {plan.name}.{what} to another one "
                f"than {value!r}."
            )
