# SPDX-License-Identifier: Apache-2.0
"""Processing of sensor samples to the contact wrench: settings, tool, zero, frame, limits, filter; no thread, no I/O.

    pipeline = Pipeline(ForceSensorSettings(tool_mass=0.5, filter_cutoff=50.0), period=1e-3)
    reading = pipeline.process(driver.read(), gravity)

Order: subtract the weight of the tool and the zero in the sensor frame; transform to the hand frame, w_h = ʰH_fs w_fs
(Yamada, sec. 4.2, force control; with the transform of wrenches, where the document prints that of velocities); check
the limits; filter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.poses import wrench_matrix
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.force_torque.sensor_driver import Sample
from ada_hardware.force_torque.tool import SensorGravity, tool_weight
from ada_robot.errors import Refused
from ada_robot.settings import setting

AXES = ("fx", "fy", "fz", "nx", "ny", "nz")
_GAP = 10.0  # periods without a sample after which the filter is reset


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
    motion_timeout: float = setting(
        0.1, "age above which an orientation of the sensor is not used for compensation", unit="s", lower=1e-3
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
        """Check the vectors; raises InputError."""
        for name in ("xyz", "rpy", "tool_com"):
            values = getattr(self, name)
            if len(values) != 3 or not all(np.isfinite(values)):
                text = f"{name} is {list(values)}; required are 3 finite numbers."
                raise InputError(text, field=name, value=values, allowed="3 finite numbers")
        if self.tool_mass == 0.0 and any(self.tool_com):
            text = "tool_com is set, but tool_mass is 0; set the mass [kg], too."
            raise InputError(text, field="tool_mass", value=0.0)


class ForceLimits:
    """Limits of |f| and |n|.

    Attributes:
        passed: description of the first violation; "" without one.
    """

    def __init__(self, max_force: float, max_moment: float, samples: int = 1) -> None:
        """Create the limits.

        Args:
            max_force: force limit [N]; 0: none.
            max_moment: moment limit [N m]; 0: none.
            samples: successive samples above a limit that count as a violation.
        """
        self._limits = (("force", "N", "max_force", max_force), ("moment", "N m", "max_moment", max_moment))
        self._samples = samples
        self._above = 0
        self.passed = ""

    @property
    def is_watching(self) -> bool:
        """True if a limit is set."""
        return any(limit > 0.0 for *_, limit in self._limits)

    def watch(self, wrench: Array) -> bool:
        """Check a wrench; return True at the first violation since the reset."""
        sizes = (math.sqrt(float(wrench[:3] @ wrench[:3])), math.sqrt(float(wrench[3:] @ wrench[3:])))
        over = [
            f"{what} of {size:.4g} {unit}, above {name} {limit:g} {unit}"
            for size, (what, unit, name, limit) in zip(sizes, self._limits, strict=True)
            if limit > 0.0 and not size <= limit  # NaN counts as a violation
        ]
        self._above = self._above + 1 if over else 0
        return self._above >= self._samples and self.trip(" and ".join(over))

    def trip(self, words: str) -> bool:
        """Latch a violation for another reason; return True if it is the first since the reset."""
        if self.passed or not words:
            return False
        self.passed = words
        return True

    def reset(self) -> None:
        """Clear the latched violation."""
        self.passed, self._above = "", 0


class LowPass:
    """Butterworth filter: |H|² = 1 / (1 + (W/W_c)⁴), W = tan(π f T).

    Bilinear transform of H(s) = 1 / (s² + √2 s + 1) with s = (1 - z⁻¹) / (1 + z⁻¹) / tan(π f_c T): gain 1/√2 exactly at
    the cutoff frequency, gain 1 at f = 0. The delay far below the cutoff is √2 / (2 π f_c).
    """

    def __init__(self, cutoff: float, period: float) -> None:
        """Create the filter; it starts in steady state at the first value.

        Args:
            cutoff: cutoff frequency f_c [Hz].
            period: sample period T [s].

        Raises:
            InputError: the cutoff is not between 0 and half the sample rate.
        """
        if not 0.0 < cutoff < 0.5 / period:
            text = (
                f"filter_cutoff is {cutoff:g} Hz; at {1.0 / period:g} samples per second it must be above 0 and below "
                f"{0.5 / period:g} Hz. Set 0 for no filter."
            )
            raise InputError(
                text, field="filter_cutoff", value=cutoff, allowed=f"above 0 and below {0.5 / period:g} Hz"
            )
        self.cutoff, self.period = cutoff, period
        k = math.tan(math.pi * cutoff * period)
        share = 1.0 / (1.0 + math.sqrt(2.0) * k + k * k)
        self._b0 = k * k * share
        self._a1 = 2.0 * (k * k - 1.0) * share
        self._a2 = (1.0 - math.sqrt(2.0) * k + k * k) * share
        self._first: Array | None = None  # states of the transposed direct form
        self._second: Array = np.zeros(6)

    def restart(self) -> None:
        """Reset the state, after a gap in the samples."""
        self._first = None

    def step(self, value: Array) -> Array:
        """Filter a value."""
        if self._first is None:  # steady state at this value
            self._first = (1.0 - self._b0) * value
            self._second = (self._b0 - self._a2) * value
        result = self._b0 * value + self._first
        self._first = 2.0 * self._b0 * value - self._a1 * result + self._second
        self._second = self._b0 * value - self._a2 * result
        return np.asarray(result)


def steady_mean(wrenches: Sequence[Array], steady_force: float, steady_moment: float) -> Array:
    """Return the mean of wrenches, for a zero.

    Args:
        wrenches: wrenches of successive samples.
        steady_force: largest standard deviation of a force axis [N].
        steady_moment: largest standard deviation of a moment axis [N m].

    Raises:
        Refused: the wrenches are not steady.
    """
    most = np.array([steady_force] * 3 + [steady_moment] * 3)
    spread = np.std(wrenches, axis=0)
    worst = int(np.argmax(spread / np.maximum(most, 1e-300)))
    if spread[worst] > most[worst]:
        unit, name = ("N", "steady_force") if worst < 3 else ("N m", "steady_moment")
        text = (
            f"the signal is not steady: {AXES[worst]} has a standard deviation of {spread[worst]:.3g} {unit} over "
            f"{len(wrenches)} samples; allowed is {most[worst]:g} {unit} ({name}). Keep robot and tool at rest and "
            "free of contact, then retry."
        )
        raise Refused(text, field=AXES[worst], value=float(spread[worst]), allowed=float(most[worst]))
    return np.asarray(np.mean(wrenches, axis=0))


@dataclass(frozen=True)
class Reading:
    """Processed sample.

    Attributes:
        number: number of the reading, from 1.
        time: time of reception on the monotonic clock [s].
        wrench: contact wrench [f, n]: without tool and zero, filtered, in the frame of the settings [N, N m].
        unfiltered: the same before the filter.
        raw: as measured by the device, in the sensor frame.
        without_tool: `raw` minus the weight of the tool.
        is_saturated: an axis is at the end of its range: the wrench is not reliable.
        is_compensated: the weight of the tool was subtracted, or there is no tool.
        error: error reported by the device; the wrench must not be used. "" without an error.
        warning: warning of the device; "" without a warning.
    """

    number: int
    time: float
    wrench: Array
    unfiltered: Array
    raw: Array
    without_tool: Array
    is_saturated: bool = False
    is_compensated: bool = True
    error: str = ""
    warning: str = ""

    @property
    def is_valid(self) -> bool:
        """True if the wrench may be used: no error, no saturation, and tool compensated."""
        return not self.error and not self.is_saturated and self.is_compensated


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

    def _without_tool(self, sample: Sample, gravity: SensorGravity | None) -> tuple[Array, bool]:
        """Subtract the weight of the tool from a sample; returns the wrench and whether it could be subtracted."""
        use = self.settings
        if not use.tool_mass:
            return sample.wrench, True
        if gravity is None or not abs(sample.time - gravity.time) <= use.motion_timeout:
            return sample.wrench, False
        return np.asarray(sample.wrench - tool_weight(use.tool_mass, use.tool_com, gravity)), True

    def process(self, sample: Sample, gravity: SensorGravity | None = None) -> Reading:
        """Process a new sample.

        Args:
            sample: sample of the driver.
            gravity: gravity in the axes of the sensor; None, or older than `motion_timeout`: unknown.
        """
        wrench, is_compensated = self._without_tool(sample, gravity)
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
            wrench,
            sample.is_saturated,
            is_compensated,
            sample.error,
            sample.warning,
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
