# SPDX-License-Identifier: Apache-2.0
"""The two generations of PA-10 controllers, which speak one protocol with different cyclic layouts, as data.

Sources (docs/pa10_hardware.md): variant "7c", the old PA-10-7C, as read alike in SDU's drv_pa10 and RobWork's
PA10Driver; variant "ce", PA10-6CE and PA10-7CE, as read in mhipa10arc. Which one a robot is stands on its type plate.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from ada_dynamics.errors import unknown_name

AXES = 7  # slots of a cyclic packet, whether the arm has seven axes or six
GEAR = 50.0  # motor turns per joint turn [-]


@dataclass(frozen=True)
class Variant:
    """How a generation of controllers lays out its cyclic packets.

    Attributes:
        name: as users choose it.
        title: the robots that speak it.
        order: of bytes, as in `struct`.
        axis_command: mode, torque, speed of one axis, as `struct` writes it.
        command_end: what follows the axes of a command.
        axis_response: status, angle, speed if there is one, torque of one axis.
        response_end: what follows the axes of a response.
        tells_speed: whether responses have the axes' speeds.
        torque_count: motor torque of a count [N m]; None: the motor's rated torque / 4096.
        watches_dead_man: bit of a command that makes the controller watch the dead-man switch is in each axis' mode
            ("mode"), or in the word at the end ("end").
        watchdog: silence after which the controller stops by itself, as its sources say [s].
    """

    name: str
    title: str
    order: str
    axis_command: str
    command_end: str
    axis_response: str
    response_end: str
    tells_speed: bool
    torque_count: float | None
    watches_dead_man: str
    watchdog: float

    @cached_property
    def command(self) -> struct.Struct:
        """Payload of a command C."""
        return struct.Struct(self.order + AXES * self.axis_command + self.command_end)

    @cached_property
    def response(self) -> struct.Struct:
        """Payload of a response C."""
        return struct.Struct(self.order + AXES * self.axis_response + self.response_end)

    def motor_torque(self, rated: float) -> float:
        """Motor torque of a count [N m].

        Args:
            rated: torque of the motor [N m].
        """
        return rated / 4096.0 if self.torque_count is None else self.torque_count


# docs/pa10_hardware.md, variant ce; watchdog and byte order from mhipa10arc
CE = Variant(
    name="ce",
    title="PA10-6CE and PA10-7CE",
    order=">",
    axis_command="Hhh",
    command_end="H",
    axis_response="Hihh",
    response_end="H",
    tells_speed=True,
    torque_count=None,
    watches_dead_man="end",
    watchdog=0.010,
)

# docs/pa10_hardware.md, variant 7c; the watchdog is RobWork's word
OLD_7C = Variant(
    name="7c",
    title="old PA-10-7C",
    order="<",
    axis_command="Bhh",
    command_end="",
    axis_response="Hih",
    response_end="H",
    tells_speed=False,
    torque_count=1e-3,
    watches_dead_man="mode",
    watchdog=0.400,
)

VARIANTS = {one.name: one for one in (CE, OLD_7C)}


def variant(name: str) -> Variant:
    """A variant by its name.

    Raises:
        InputError: there is none.
    """
    if name not in VARIANTS:
        raise unknown_name("PA-10 variant", name, list(VARIANTS))
    return VARIANTS[name]
