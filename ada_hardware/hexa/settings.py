# SPDX-License-Identifier: Apache-2.0
"""Settings of the HEXA driver and its emulator, and limits of the motors.

The limits are assumptions: there are no published data of HEXA97. The range of the cranks contains the workspace
(radius 0.15 m, z = -0.55 ± 0.05 m, tilts of 15 deg about each axis: -3 to 84 deg), with a margin.
"""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_hardware.hexa.kinematics import JOINTS
from ada_hardware.hexa.plant import PERIOD, TORQUE_LIMIT
from ada_robot.contract import JointLimit
from ada_robot.settings import setting

__all__ = ["LEAST_HOLD", "LIMITS", "LOWER", "PERIOD", "RATE_LIMIT", "TORQUE_LIMIT", "UPPER", "WATCHDOG"]

LOWER = -0.35  # [rad]
UPPER = 1.75  # [rad]
RATE_LIMIT = 10.0  # [rad/s]
WATCHDOG = 0.02  # [s] without a command, ten periods, after which the table brakes by itself
DAMPING = 5.0  # [N m s/rad], an assumption: damping ratios from 0.3 to 1.2 for all stiffnesses and motions
STIFFEST = 2000.0  # [N m/rad]; a stiffer servo with a hold time of 2 ms oscillates
LEAST_HOLD = 0.02  # smallest allowed distance from singular configurations of the second kind

LIMITS = tuple(JointLimit(name, LOWER, UPPER, RATE_LIMIT, TORQUE_LIMIT) for name in JOINTS)


@dataclass(frozen=True)
class HexaSettings:
    """Settings of the driver."""

    url: str = setting("", "address of the table's computer, such as udp://192.168.1.20:50097; dry: opens no port")
    reply_timeout: float = setting(
        0.0012, "timeout of the answer to a command", unit="s", lower=1e-4, upper=0.1, read_only=True
    )
    connect_timeout: float = setting(
        1.0, "timeout of the first answer", unit="s", lower=0.01, upper=60.0, read_only=True
    )


@dataclass(frozen=True)
class HexaEmulatorSettings:
    """Settings of the emulated table."""

    stiffness: float = setting(
        400.0, "K_p of the servos; 200, 400 and 800 in figs. 12-14", unit="N m/rad", lower=1.0, upper=STIFFEST
    )
    damping: float = setting(DAMPING, "K_d of the servos", unit="N m s/rad", lower=0.1, upper=15.0)
    rate_reference: str = setting(
        "difference",
        "rate reference of the damping term: difference of successive targets (as eq. 10), or none",
        choices=("difference", "none"),
    )
    plate_mass: float = setting(0.5, "mass of the plate and everything mounted on it", unit="kg", lower=0.01, upper=5.0)
    position: tuple[float, ...] = setting((0.0, 0.0, -0.55), "initial position of the plate", unit="m")
    rpy: tuple[float, ...] = setting((0.0, 0.0, 0.0), "initial roll, pitch and yaw of the plate", unit="rad")
    probe: tuple[float, ...] = setting((), "tip of a probe under the plate; empty: none", unit="m")
    probe_stiffness: float = setting(3e5, "stiffness of the contact with the probe", unit="N/m", lower=1e3, upper=2e6)
    probe_dissipation: float = setting(0.0, "loss of restitution by impact speed", unit="s/m", lower=0.0, upper=100.0)
    probe_friction: float = setting(0.0, "coefficient of friction of the contact", lower=0.0, upper=2.0)
    watchdog: float = setting(WATCHDOG, "watchdog timeout of a driven table", unit="s", lower=0.004, upper=10.0)
    reply_delay: float = setting(2e-4, "delay of an answer", unit="s", lower=0.0, upper=0.1)
    substep: float = setting(5e-4, "step of the integrator; 2 ms must be a multiple of it", unit="s", upper=2e-3)

    def __post_init__(self) -> None:
        """Check the lengths of lists; raises InputError."""
        for name, values, allowed in (
            ("position", self.position, (3,)),
            ("rpy", self.rpy, (3,)),
            ("probe", self.probe, (0, 3)),
        ):
            if len(values) not in allowed:
                raise InputError(
                    f"parameter {name} is {list(values)}; required are three numbers.", field=name, value=values
                )
