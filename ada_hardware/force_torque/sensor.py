# SPDX-License-Identifier: Apache-2.0
"""Force/torque sensor for programs and nodes: a reading thread, and the latest wrench at any time.

    sensor = ForceSensor("netft", {"url": "udp://192.168.1.1:49152"}, ForceSensorSettings(filter_cutoff=50.0))
    sensor.open()
    sensor.bias()                      # use the present wrench as zero; refused while the signal is not steady
    sensor.newest.wrench               # [fx, fy, fz, nx, ny, nz]
    sensor.status().problems           # list of problems
    sensor.close()

All methods can be called from any thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock, ManualClock
from ada_dynamics.errors import InputError
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity, SequenceCounts
from ada_hardware.force_torque.sensor_reader import NOT_OPEN, SensorReader
from ada_hardware.force_torque.sensor_settings import ForceSensorSettings
from ada_hardware.force_torque.sensor_status import Level, Reading, SensorState, SensorStatus, problems_of, worst_level
from ada_hardware.force_torque.tool_motion import ToolMotion
from ada_hardware.force_torque.zero import ZeroTaking
from ada_hardware.registry import DEVICES, SENSOR, find
from ada_robot.errors import NoAnswer, Refused, UnknownDevice
from ada_robot.settings import checked

__all__ = [
    "ForceSensor",
    "ForceSensorSettings",
    "Level",
    "Reading",
    "Sample",
    "SensorDriver",
    "SensorIdentity",
    "SensorState",
    "SensorStatus",
    "SequenceCounts",
    "ToolMotion",
]

T = TypeVar("T")
_log = logging.getLogger("ada_hardware")
_LONGEST_END = 5.0  # [s] for the end of the thread, longer than the open of a driver
_LONGEST_WAIT = 2.0  # [s] timeout of a request to the thread, or the silence timeout if longer


class ForceSensor:
    """Sensor with its reading thread and processing pipeline. All methods are thread-safe.

    Attributes:
        settings: settings of the processing.
    """

    def __init__(
        self,
        device: str,
        driver_settings: object,
        settings: ForceSensorSettings | None = None,
        *,
        on_limit: Callable[[str], object] | None = None,
    ) -> None:
        """Create the sensor without opening it.

        Args:
            device: device name in `registry.DEVICES`.
            driver_settings: instance of the driver's SETTINGS, or a mapping for `settings.checked`.
            settings: settings of the processing; default: no zero, filter, tool or limits.
            on_limit: called with a description in the sensor's thread when a limit is exceeded, such as a robot's
                `stop`; once until `reset`.

        Raises:
            UnknownDevice: the device is unknown or not a sensor.
            InputError: invalid settings.
        """
        kind = find(device)
        if kind.kind != SENSOR:
            sensors = ", ".join(one.name for one in DEVICES.values() if one.kind == SENSOR)
            text = f"{device!r} is a {kind.kind}, not a sensor; sensors are {sensors}."
            raise UnknownDevice(
                text,
                field="device",
                value=device,
                allowed=tuple(one.name for one in DEVICES.values() if one.kind == SENSOR),
            )
        make = kind.driver_class()
        if isinstance(driver_settings, Mapping):
            driver_settings = checked(make.SETTINGS, driver_settings)
        if not isinstance(driver_settings, make.SETTINGS):
            text = (
                f"{device}: driver_settings is a {type(driver_settings).__name__}; required is "
                f"{make.SETTINGS.__name__} or a mapping."
            )
            raise InputError(
                text, field="driver_settings", value=type(driver_settings).__name__, allowed=make.SETTINGS.__name__
            )
        self._prepare(make(driver_settings), settings, on_limit, SYSTEM_CLOCK)

    @classmethod
    def of(
        cls,
        driver: SensorDriver[Any, Any, Any],
        settings: ForceSensorSettings | None = None,
        *,
        on_limit: Callable[[str], object] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> ForceSensor:
        """Create a sensor with a given driver.

        Args:
            driver: driver, not open.
            settings: settings of the processing.
            on_limit: called when a limit is exceeded.
            clock: clock of the driver. With a `ManualClock` there is no thread: a call that waits reads samples until
                its condition holds or the clock has passed its timeout.
        """
        sensor = cls.__new__(cls)
        sensor._prepare(driver, settings, on_limit, clock)
        return sensor

    def _prepare(
        self,
        driver: SensorDriver[Any, Any, Any],
        settings: ForceSensorSettings | None,
        on_limit: Callable[[str], object] | None,
        clock: Clock,
    ) -> None:
        self.settings = settings or ForceSensorSettings()
        self._clock = clock
        self._reader = SensorReader(driver, self.settings, on_limit, clock)
        self._gate = threading.RLock()  # serializes open and close
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_open, self._is_stepped = False, isinstance(clock, ManualClock)

    # --- status ---------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """Device name in `registry.DEVICES`."""
        return self._reader.name

    @property
    def period(self) -> float:
        """Sample period as set, or as reported by the open sensor [s]."""
        return self._reader.driver.period

    @property
    def newest(self) -> Reading | None:
        """Latest reading; None before the first. Check its `time` (or `status().age`) before use."""
        return self._reader.newest

    def newer_than(self, number: int, timeout: float) -> Reading | None:
        """Wait up to `timeout` [s] for a reading with a greater number; None after the timeout."""
        if self._is_stepped:
            self._step_until(lambda: self.newest is not None and self.newest.number > number, timeout)
        return self._reader.newer_than(number, 0.0 if self._is_stepped else timeout)

    def status(self) -> SensorStatus:
        """Status of the sensor and its connection."""
        reader = self._reader
        state, reason, newest, now = reader.state, reader.reason, reader.newest, self._clock()
        passed, rate = reader.pipeline.limits.passed, reader.rate.at(now)
        problems = problems_of(state, reason, newest, passed, rate, 1.0 / self.period)
        return SensorStatus(
            state,
            worst_level(level for level, _ in problems),
            tuple(words for _, words in problems),
            float("inf") if newest is None else now - newest.time,
            rate,
            reader.readings,
            reader.saturated,
            reader.errors,
            reader.uncompensated,
            reader.pipeline.bias.copy(),
            reader.is_biased_here or reader.is_biased_in_device,
            passed,
            reader.reopened,
            replace(reader.driver.counts),
            replace(reader.driver.sequence),
            reader.identity,
            dict(newest.values) if newest is not None else {},
        )

    # --- open and close -------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Open the connection, find the sensor, and start reading; no effect if it is open.

        Raises:
            TransportError: the connection cannot be opened.
            NoAnswer: no reply of such a sensor.
            InputError: the filter cutoff is too high for the sample rate.
            Refused: bias_at_open is set and the signal is not steady.
        """
        with self._gate:
            if self._is_open:
                return
            self._reader.open()
            self._ending, self._is_open = threading.Event(), True
            if not self._is_stepped:
                # a daemon thread, so that a program that does not close the sensor can exit
                name = f"sensor {self.name}"
                self._thread = threading.Thread(target=self._reader.run, args=(self._ending,), name=name, daemon=True)
                self._thread.start()
            if self.settings.bias_at_open:
                try:
                    self.bias()
                except BaseException:
                    self.close()
                    raise

    def close(self) -> None:
        """Stop the thread and close the connection; may be called twice."""
        with self._gate:
            if not self._is_open:
                return
            thread, self._thread, self._is_open = self._thread, None, False
            self._ending.set()
            if thread is None:
                self._reader.finish()
            elif thread is not threading.current_thread():
                thread.join(_LONGEST_END)
                if thread.is_alive():
                    _log.error(
                        "%s: the reading thread does not end; the connection stays open until it does", self.name
                    )
            self._reader.state, self._reader.reason = SensorState.CLOSED, NOT_OPEN

    def __enter__(self) -> ForceSensor:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests -------------------------------------------------------------------------------------------------
    def bias(self, *, in_device: bool = False, timeout: float | None = None) -> Array:
        """Use the present wrench as zero: mean of `bias_samples` samples, or the zero function of the device.

        Args:
            in_device: use the zero function of the device (lost at power-off) and clear the zero of the host.
            timeout: timeout of the samples [s]; default: twice their duration plus the silence timeout.

        Returns:
            Zero that is subtracted from now on, in the sensor frame; zeros with `in_device`.

        Raises:
            Refused: not open, not steady, saturated, device error, no zero function, or unknown motion of the tool.
            NoAnswer: not enough samples within the timeout.
        """
        use, reader = self.settings, self._reader
        wait = 2.0 * use.bias_samples * self.period + use.silence_timeout if timeout is None else timeout
        if in_device:
            self._do(reader.bias_in_device)
            return np.zeros(6)
        future: Future[Array] = Future()
        taking = ZeroTaking(use.bias_samples, use.steady_force, use.steady_moment)
        self._do(lambda: reader.begin_zero(taking, future))
        try:
            return self._result(future, wait)
        except FutureTimeout:
            future.cancel()
            raise NoAnswer(
                f"{self.name}: only {taking.count} of {use.bias_samples} samples for the zero within {wait:g} s; "
                f"{reader.reason or 'check the rate of the sensor'}.",
                field="samples",
                value=taking.count,
                allowed=use.bias_samples,
            ) from None

    def clear_bias(self) -> None:
        """Clear the zero of the host."""
        self._reader.clear_bias()

    def reset(self) -> None:
        """Clear an exceeded limit and the latched state of the device; enables `on_limit` again.

        Raises:
            Refused: not open.
            NoAnswer: the thread is waiting for the device.
        """
        self._do(self._reader.reset)

    def set_tool_motion(self, motion: ToolMotion | None) -> None:
        """Set the motion of the sensor, used to subtract the tool wrench; None: unknown.

        Needed only if tool_mass is set, at least every `motion_timeout` seconds. `SensorMotion` computes it from joint
        states.
        """
        self._reader.motion = motion

    def _do(self, action: Callable[[], object]) -> None:
        """Run an action in the thread between two samples; raises Refused or NoAnswer."""
        reader = self._reader
        if not self._is_open or reader.state is SensorState.LOST:
            raise Refused(
                f"{self.name}: {reader.reason or NOT_OPEN}; open it first.", field="state", value=reader.state.value
            )
        future, timeout = reader.post(action), max(_LONGEST_WAIT, self.settings.silence_timeout)
        try:
            self._result(future, timeout)
        except CancelledError:
            raise Refused(
                f"{self.name}: closed during the request; open it first.", field="state", value="closed"
            ) from None
        except FutureTimeout:
            future.cancel()
            raise NoAnswer(
                f"{self.name}: no response of the reading thread within {timeout:g} s; {reader.reason or 'try again'}.",
                field="thread",
            ) from None

    def _result(self, future: Future[T], timeout: float) -> T:
        """Return the result of a request. Raises FutureTimeout or the error of the request."""
        if self._is_stepped:
            self._step_until(future.done, timeout)
        return future.result(0.0 if self._is_stepped else timeout)

    def _step_until(self, is_done: Callable[[], bool], timeout: float) -> None:
        """Without a thread: read samples until a condition is true or the clock has passed the timeout [s]."""
        deadline = self._clock.now() + timeout
        while self._is_open and not is_done() and self._clock.now() <= deadline:
            self._reader.step(self._ending)
