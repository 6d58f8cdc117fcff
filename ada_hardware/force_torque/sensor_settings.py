# SPDX-License-Identifier: Apache-2.0
"""Settings of the processing of a sensor's readings: zero, tool, filter, frame, limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics.errors import InputError
from ada_robot.settings import setting


@dataclass(frozen=True)
class ForceSensorSettings:
    """From the device's wrench to that of what touches the hand; the same for every sensor."""

    xyz: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "place of the sensor in the frame that wrenches are given in", unit="m"
    )
    rpy: tuple[float, ...] = setting((0.0, 0.0, 0.0), "its roll, pitch and yaw there", unit="rad")
    filter_cutoff: float = setting(
        0.0, "frequency from which on a Butterworth filter of 2nd order damps; 0: no filter", unit="Hz", lower=0.0
    )
    tool_mass: float = setting(0.0, "of what hangs on the sensor; 0: nothing is taken off", unit="kg", lower=0.0)
    tool_com: tuple[float, ...] = setting((0.0, 0.0, 0.0), "its centre of mass from the sensor, in its axes", unit="m")
    tool_inertia: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), "xx, yy, zz, xy, xz, yz about that centre, in its axes", unit="kg m^2"
    )
    motion_timeout: float = setting(
        0.1, "age from which on a motion of the tool is too old to take it off", unit="s", lower=1e-3
    )
    bias_samples: int = setting(200, "that a zero is the mean of", lower=2, upper=100_000)
    bias_at_open: bool = setting(False, "whether what is measured first counts as zero")
    steady_force: float = setting(
        1.0, "greatest standard deviation of a force's axis while zero is taken", unit="N", lower=0.0
    )
    steady_moment: float = setting(
        0.05, "greatest standard deviation of a moment's axis while zero is taken", unit="N m", lower=0.0
    )
    max_force: float = setting(
        0.0, "that touches the hand; above it `on_limit` is called; 0: none", unit="N", lower=0.0
    )
    max_moment: float = setting(0.0, "likewise, about the frame's origin; 0: none", unit="N m", lower=0.0)
    limit_samples: int = setting(2, "in a row above a limit before it counts", lower=1, upper=1000)
    stop_on_fault: bool = setting(
        True, "whether silence, saturation and errors of the device count as a passed limit, where there is one"
    )
    silence_timeout: float = setting(
        1.0, "without a sample after which the sensor counts as silent", unit="s", lower=1e-3
    )
    reopen_after: float = setting(
        1.0, "after which a lost or silent sensor is opened anew, again and again; 0: never", unit="s", lower=0.0
    )

    def __post_init__(self) -> None:
        """Check lengths, and that the tool's inertia is one.

        Raises:
            InputError: a list of another length; an inertia that no body can have.
        """
        for name, length in (("xyz", 3), ("rpy", 3), ("tool_com", 3), ("tool_inertia", 6)):
            values = getattr(self, name)
            if len(values) != length or not all(np.isfinite(values)):
                text = f"{name} is {list(values)}; it must have {length} finite numbers."
                raise InputError(text, field=name, value=values, allowed=f"{length} finite numbers")
        xx, yy, zz, xy, xz, yz = self.tool_inertia
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        # a body's greatest principal moment is at most the sum of the others (thin plates reach it)
        if moments[0] < -1e-12 or moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9) + 1e-12:
            text = (
                f"tool_inertia is {list(self.tool_inertia)} with principal moments {np.round(moments, 9).tolist()}; "
                "none may be negative or greater than the sum of the other two. They are xx, yy, zz, xy, xz, yz."
            )
            raise InputError(text, field="tool_inertia", value=self.tool_inertia)
        if self.tool_mass == 0.0 and (any(self.tool_inertia) or any(self.tool_com)):
            text = "tool_com or tool_inertia is given, but tool_mass is 0; give the mass [kg] too."
            raise InputError(text, field="tool_mass", value=0.0)
