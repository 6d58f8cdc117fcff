# SPDX-License-Identifier: Apache-2.0
"""Processing of sensor samples to the contact wrench; no thread, no I/O.

    pipeline = Pipeline(ForceSensorSettings(tool_mass=0.5, filter_cutoff=50.0), period=1e-3)
    reading = pipeline.process(driver.read(), motion)

Order: subtract tool wrench and zero in the sensor frame; transform to the hand frame, w_h = ʰH_fs w_fs (Yamada,
sec. 4.2, force control); check the limits; filter.
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.poses import wrench_matrix
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.force_torque.limits import ForceLimits
from ada_hardware.force_torque.low_pass import LowPass
from ada_hardware.force_torque.sensor_driver import Sample
from ada_hardware.force_torque.sensor_settings import ForceSensorSettings
from ada_hardware.force_torque.sensor_status import Reading
from ada_hardware.force_torque.tool_load import ToolLoad
from ada_hardware.force_torque.tool_motion import ToolMotion

_GAP = 10.0  # periods without a sample after which the filter is reset


class Pipeline:
    """Processes successive samples.

    Attributes:
        settings: settings in use.
        bias: zero to subtract, in the sensor frame [N, N m].
        limits: force and moment limits.
    """

    def __init__(self, settings: ForceSensorSettings, period: float) -> None:
        """Create the pipeline.

        Args:
            settings: settings to use.
            period: sample period [s].

        Raises:
            InputError: the filter cutoff is too high for the sample rate.
        """
        self.settings = settings
        self.bias: Array = np.zeros(6)
        self.limits = ForceLimits(settings.max_force, settings.max_moment, settings.limit_samples)
        self._to_hand = wrench_matrix(pose_of(settings.xyz, settings.rpy))
        self._tool = (
            ToolLoad(settings.tool_mass, settings.tool_com, settings.tool_inertia) if settings.tool_mass > 0.0 else None
        )
        self._filter: LowPass | None = None
        self._number, self._last = 0, -math.inf
        self.set_period(period)

    def set_period(self, period: float) -> None:
        """Set the sample period.

        Raises:
            InputError: the filter cutoff is too high for the sample rate.
        """
        self._gap = _GAP * period
        self._filter = LowPass(self.settings.filter_cutoff, period) if self.settings.filter_cutoff > 0.0 else None

    def without_tool(self, sample: Sample, motion: ToolMotion | None) -> tuple[Array, bool]:
        """Subtract the tool wrench from a sample; returns the wrench and whether it could be subtracted.

        Args:
            sample: sample of the driver.
            motion: motion of the sensor; None, or older than `motion_timeout`: unknown.
        """
        if self._tool is None:
            return sample.wrench, True
        if motion is None or not abs(sample.time - motion.time) <= self.settings.motion_timeout:
            return sample.wrench, False
        return np.asarray(sample.wrench - self._tool.wrench(motion)), True

    def process(self, sample: Sample, motion: ToolMotion | None = None) -> Reading:
        """Process a new sample; arguments as of `without_tool`."""
        wrench, is_compensated = self.without_tool(sample, motion)
        unfiltered = np.asarray(self._to_hand @ (wrench - self.bias))
        if self._filter is None:
            filtered = unfiltered
        else:
            if sample.time - self._last > self._gap:
                self._filter.restart()
            filtered = self._filter.step(unfiltered)
        self._last = sample.time
        self._number += 1
        return Reading(
            self._number,
            sample.time,
            filtered,
            unfiltered,
            sample.wrench,
            sample.is_saturated,
            is_compensated,
            sample.error,
            sample.warning,
            sample.values,
        )

    def passes_limit(self, reading: Reading) -> bool:
        """Return True at the first violation since the reset, or if a reading is not valid for the check."""
        if self.limits.is_watching and self.settings.stop_on_fault:
            if reading.error:
                return self.limits.trip(f"device error ({reading.error})")
            if reading.is_saturated:
                return self.limits.trip("an axis is at the end of its range")
        return self.limits.watch(reading.unfiltered)

    def forget_filter(self) -> None:
        """Restart the filter in steady state at the next wrench, after a change of the zero."""
        self._last = -math.inf
