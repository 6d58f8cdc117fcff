# SPDX-License-Identifier: Apache-2.0
"""HEXA and force sensor, both emulated in this process, with the probe between them.

The contact force on the probe is passed to the sensor emulator; everything else uses the byte protocols of the devices.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ada_dynamics.clock import ManualClock
from ada_experiments.motion_simulation.frames import Mounting, cross, inverse, wrench_in
from ada_experiments.motion_simulation.hexa_table import HexaTable
from ada_experiments.motion_simulation.probe_sensor import DriverSensor
from ada_hardware.emulation.emulator import Emulator
from ada_hardware.emulation.in_process import InProcessPackets, InProcessStream
from ada_hardware.force_torque.dynpick.driver import DynPickDriver, DynPickSettings
from ada_hardware.force_torque.dynpick.emulator import DynPickEmulator, DynPickEmulatorSettings
from ada_hardware.force_torque.rdt.driver import NetFtDriver, NetFtSettings
from ada_hardware.force_torque.rdt.emulator import NetFtEmulator, NetFtEmulatorSettings
from ada_hardware.force_torque.sensor_driver import SensorDriver
from ada_hardware.hexa.driver import HexaDriver, HexaSettings
from ada_hardware.hexa.emulator import HexaEmulator, HexaEmulatorSettings
from ada_robot.settings import setting

SENSORS = ("netft", "dynpick")
_RATE = 1000.0  # [Hz], of the sensor
_REPLY = 2e-4  # [s], from a command to the reply of the table
_ABOVE = 0.01  # [m] initial height of the plate above the probe
_WEIGHT = 0.288 * 9.81  # [N] of real model 1 (table 2), carried by the sensor


@dataclass(frozen=True)
class EmulatedTableSettings:
    """Servo of the HEXA, probe and sensor."""

    kp: float = setting(200.0, "stiffness of each motor, K_p", unit="N m/rad", lower=1.0, upper=2000.0)
    kd: float = setting(2.0, "damping of each motor, K_d", unit="N m s/rad", lower=0.1, upper=15.0)
    damps_errors: bool = setting(False, "damp the rates of the motor errors instead of the motor rates")
    probe_stiffness: float = setting(3e5, "stiffness of the probe and its sensor", unit="N/m", lower=1e3, upper=2e6)
    probe_dissipation: float = setting(
        20.0, "dissipation of the probe: loss of restitution per speed", unit="s/m", lower=0.0
    )
    probe_friction: float = setting(0.0, "friction coefficient between probe and plate", lower=0.0, upper=2.0)
    sensor: str = setting("netft", "sensor of the probe", choices=SENSORS)
    noise: float = setting(2.0, "maximum noise of the sensor axes", unit="counts", lower=0.0)
    seed: int = setting(0, "seed of the noise")


class EmulatedTable(HexaTable):
    """Emulated HEXA with an emulated force sensor.

    Attributes:
        hexa: emulated table.
        force_sensor: emulated sensor.
    """

    def __init__(
        self,
        settings: EmulatedTableSettings,
        mounting: Mounting,
        *,
        clock: ManualClock | None = None,
        faults: Mapping[str, float] | None = None,
    ) -> None:
        """Switch both devices on.

        Args:
            settings: settings of table and sensor.
            mounting: poses of probe, sensor and face.
            clock: clock of the lock step; None for real time.
            faults: faults of the table communication, see `emulation.faults`.

        Raises:
            Unreachable: the plate cannot reach the probe.
        """
        self._mounting = mounting
        above = mounting.plate_pose(np.diag([1.0, -1.0, -1.0, 1.0]))
        above[:3, 3] += _ABOVE * mounting.tip_in_lab[:3, 2]
        x, y, z = above[:3, 3].tolist()
        tip = mounting.tip_in_lab[:3, 3].tolist()
        self.hexa = HexaEmulator(
            HexaEmulatorSettings(
                stiffness=settings.kp,
                damping=settings.kd,
                rate_reference="difference" if settings.damps_errors else "none",
                position=(x, y, z),
                probe=(tip[0], tip[1], tip[2]),
                probe_stiffness=settings.probe_stiffness,
                probe_dissipation=settings.probe_dissipation,
                probe_friction=settings.probe_friction,
                reply_delay=_REPLY if clock is not None else 0.0,  # in real time the computation takes as long
            )
        )
        now, sleep = (time.monotonic, time.sleep) if clock is None else (clock.now, clock.sleep)
        wire = InProcessPackets(self.hexa, clock=now, sleep=sleep, faults=faults, url="emulated hexa")
        driver = HexaDriver(HexaSettings(), wire=wire, clock=now)
        self.force_sensor, sensor_driver = _sensor(settings, now, sleep)
        sensor = DriverSensor(sensor_driver, driver.period, now)
        self._at_sensor = inverse(mounting.sensor_in_lab)
        self._weight = np.concatenate([self._at_sensor[:3, :3] @ (0.0, 0.0, -_WEIGHT), np.zeros(3)])
        self._load()
        super().__init__(driver, sensor, clock=clock, after_exchange=self._load)

    def _warm_up(self) -> None:
        super()._warm_up()
        plant = self.hexa.plant
        plant.run()
        _ = plant.weight_torques, plant.torques, plant.probe_wrench

    def _load(self) -> None:
        """Set the load of the sensor: contact force and weight of the probe, which is vertically above it."""
        on_probe = self.hexa.plant.probe_wrench
        tip = self._mounting.tip_in_lab[:3, 3]
        about_base = np.concatenate([on_probe[:3], on_probe[3:] + cross(tip, on_probe[:3])])
        self.force_sensor.set_wrench(wrench_in(self._at_sensor, about_base) + self._weight)


def _sensor(settings: EmulatedTableSettings, now: Any, sleep: Any) -> tuple[Any, SensorDriver[Any, Any, Any]]:
    """Emulated sensor and its driver."""
    emulator: Emulator[Any]
    if settings.sensor == "netft":
        emulator = NetFtEmulator(NetFtEmulatorSettings(rate=_RATE, noise=settings.noise, seed=settings.seed))
        packets = InProcessPackets(emulator, clock=now, sleep=sleep, url="emulated netft")
        return emulator, NetFtDriver(NetFtSettings(rate=_RATE), wire=packets, clock=now)
    emulator = DynPickEmulator(DynPickEmulatorSettings(noise=settings.noise, seed=settings.seed, rate=_RATE))
    stream = InProcessStream(emulator, clock=now, sleep=sleep, url="emulated dynpick")
    use = DynPickSettings(mode="continuous", rate=_RATE)
    return emulator, DynPickDriver(use, wire=stream, clock=now, sleep=sleep)
