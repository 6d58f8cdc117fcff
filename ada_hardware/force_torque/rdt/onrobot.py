# SPDX-License-Identifier: Apache-2.0
"""Driver of the OnRobot HEX (OptoForce) with its Ethernet box: RDT records, rate and filter set by command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ada_hardware.force_torque.rdt import codec
from ada_hardware.force_torque.rdt.codec import Request
from ada_hardware.force_torque.rdt.driver import RdtDriver, RdtSettings
from ada_hardware.force_torque.sensor_driver import SensorIdentity
from ada_hardware.transport.wires import PacketPort
from ada_robot.settings import setting

SCALE = (10_000.0,) * 3 + (100_000.0,) * 3  # [1/N], [1/(N m)]
FILTERS = {"none": 0, "500": 1, "150": 2, "50": 3, "15": 4, "5": 5, "1.5": 6}
"""Filter codes by cutoff frequency [Hz]."""
TICK = 1e-3  # [s] unit of the sample period

# Status bits of OptoForce's serial and CAN packets; the same bits are assumed for the records of the box. The lowest
# four identify the sensor.
_WHICH = 0x000F
_OVERLOAD = {0x0200: "fx", 0x0100: "fy", 0x0080: "fz", 0x0040: "nx", 0x0020: "ny", 0x0010: "nz"}
_SENSOR_ERRORS = {1: "sensor not detected", 2: "sensor failure", 4: "sensor temperature out of range"}
_BOX_ERRORS = {1: "failure of the box", 2: "communication failure between box and sensor"}


@dataclass(frozen=True)
class OnRobotSettings(RdtSettings):
    """Connection, rate and filter of a HEX."""

    device_filter: str = setting("none", "cutoff of the filter in the device", unit="Hz", choices=tuple(FILTERS))


class OnRobotDriver(RdtDriver[OnRobotSettings]):
    """OnRobot HEX driver."""

    NAME = "onrobot"
    SETTINGS: ClassVar[type] = OnRobotSettings
    _BIAS = Request(codec.BIAS, 1)  # some programs send 255; 0 clears the zero

    @property
    def period(self) -> float:
        """Sample period, a multiple of 1 ms [s]."""
        return self._ticks * TICK

    @property
    def _ticks(self) -> int:
        return max(round(1.0 / (self.settings.rate * TICK)), 1)

    def _prepare(self, wire: PacketPort) -> SensorIdentity:
        self._repeat(Request(codec.SPEED, self._ticks))
        self._repeat(Request(codec.FILTER, FILTERS[self.settings.device_filter]))
        return SensorIdentity("OnRobot HEX", SCALE, "protocol")

    def _verdict(self, status: int) -> tuple[str, str, bool]:
        status &= ~_WHICH
        if not status:
            return "", "", False
        over = [name for bit, name in _OVERLOAD.items() if status & bit]
        sensor, box, above = (status >> 10) & 7, (status >> 13) & 7, status >> 16
        errors = []
        if sensor:
            errors.append(_SENSOR_ERRORS.get(sensor, f"sensor error {sensor}"))
        if box:
            errors.append(_BOX_ERRORS.get(box, f"box error {box}"))
        if above:
            errors.append("see the status code in the device manual")
        warning = f"status 0x{status:08X}: overload of {', '.join(over)}" if over else ""
        error = f"status 0x{status:08X}: {', '.join(errors)}" if errors else ""
        return error, warning, bool(over)

    def reset(self) -> None:
        """No effect: the device has no latched state."""
