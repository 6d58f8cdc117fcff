# SPDX-License-Identifier: Apache-2.0
"""Settings of the processing of sensor readings: zero, tool, filter, frame, limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics.errors import InputError
from ada_robot.settings import setting


@dataclass(frozen=True)
class ForceSensorSettings:
    """Conversion from the measured wrench to the contact wrench; the same for every sensor."""

    xyz: tuple[float, ...] = setting((0.0, 0.0, 0.0), "position of the sensor in the frame of the wrenches", unit="m")
    rpy: tuple[float, ...] = setting((0.0, 0.0, 0.0), "roll, pitch and yaw of the sensor in that frame", unit="rad")
    filter_cutoff: float = setting(
        0.0, "cutoff frequency of the 2nd-order Butterworth low-pass filter; 0: no filter", unit="Hz", lower=0.0
    )
    tool_mass: float = setting(0.0, "mass of the tool on the sensor; 0: no compensation", unit="kg", lower=0.0)
    tool_com: tuple[float, ...] = setting((0.0, 0.0, 0.0), "centre of mass of the tool in the sensor frame", unit="m")
    tool_inertia: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), "xx, yy, zz, xy, xz, yz about the centre of mass, sensor axes", unit="kg m^2"
    )
    motion_timeout: float = setting(
        0.1, "age above which a motion of the tool is not used for compensation", unit="s", lower=1e-3
    )
    bias_samples: int = setting(200, "number of samples averaged for a zero", lower=2, upper=100_000)
    bias_at_open: bool = setting(False, "determine the zero when the sensor is opened")
    steady_force: float = setting(1.0, "largest standard deviation of a force axis for a zero", unit="N", lower=0.0)
    steady_moment: float = setting(
        0.05, "largest standard deviation of a moment axis for a zero", unit="N m", lower=0.0
    )
    max_force: float = setting(
        0.0, "limit of the contact force, above which `on_limit` is called; 0: none", unit="N", lower=0.0
    )
    max_moment: float = setting(0.0, "limit of the moment about the frame origin; 0: none", unit="N m", lower=0.0)
    limit_samples: int = setting(2, "successive samples above a limit that count as exceeding it", lower=1, upper=1000)
    stop_on_fault: bool = setting(
        True, "timeouts, saturation and device errors count as exceeding a limit, if one is set"
    )
    silence_timeout: float = setting(
        1.0, "time without a sample after which the sensor counts as silent", unit="s", lower=1e-3
    )
    reopen_after: float = setting(
        1.0, "interval of attempts to reopen a lost or silent sensor; 0: never", unit="s", lower=0.0
    )

    def __post_init__(self) -> None:
        """Check lengths and the inertia of the tool; raises InputError."""
        for name, length in (("xyz", 3), ("rpy", 3), ("tool_com", 3), ("tool_inertia", 6)):
            values = getattr(self, name)
            if len(values) != length or not all(np.isfinite(values)):
                text = f"{name} is {list(values)}; required are {length} finite numbers."
                raise InputError(text, field=name, value=values, allowed=f"{length} finite numbers")
        xx, yy, zz, xy, xz, yz = self.tool_inertia
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        # triangle inequality of the principal moments; equality holds for thin plates
        if moments[0] < -1e-12 or moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9) + 1e-12:
            text = (
                f"tool_inertia is {list(self.tool_inertia)} with principal moments {np.round(moments, 9).tolist()}; "
                "none may be negative or exceed the sum of the other two. Order: xx, yy, zz, xy, xz, yz."
            )
            raise InputError(text, field="tool_inertia", value=self.tool_inertia)
        if self.tool_mass == 0.0 and (any(self.tool_inertia) or any(self.tool_com)):
            text = "tool_com or tool_inertia is set, but tool_mass is 0; set the mass [kg], too."
            raise InputError(text, field="tool_mass", value=0.0)
