# SPDX-License-Identifier: Apache-2.0
"""A force/torque sensor as programs and the node use it: a thread that reads, and the newest wrench at any time.

sensor = ForceSensor("netft", {"url": "udp://192.168.1.1:49152"}, ForceSensorSettings(filter_cutoff=50.0))
sensor.open()
sensor.bias()                      # what is measured now is zero; refused while the signal is not steady
sensor.newest.wrench               # [fx, fy, fz, nx, ny, nz]
sensor.status().problems           # what is not as it should be
sensor.close()
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
_LONGEST_END = 5.0  # [s] for the thread: longer than a driver's open takes
_LONGEST_WAIT = 2.0  # [s] limit of a request to the thread, unless the silence timeout is longer


class ForceSensor:
    """A sensor, its thread, and the processing of its readings.

    Every method may be called from any thread.

    Attributes:
        settings: what is made of the readings.
    """

    def __init__(
        self,
        device: str,
        driver_settings: object,
        settings: ForceSensorSettings | None = None,
        *,
        on_limit: Callable[[str], object] | None = None,
    ) -> None:
        """Prepare; `open` begins.

        Args:
            device: kind of sensor, by its name in `registry.DEVICES`.
            driver_settings: of the driver's class SETTINGS, or a mapping that `settings.checked` makes one of.
            settings: what is made of the readings; by default their zero, filter, tool and limits are none.
            on_limit: called once in the sensor's thread with words when a limit of the settings is passed, such as a
                robot's `stop`; again only after `reset`.

        Raises:
            UnknownDevice: there is none of that name, or it is no sensor.
            InputError: settings that cannot be.
        """
        kind = find(device)
        if kind.kind != SENSOR:
            sensors = ", ".join(one.name for one in DEVICES.values() if one.kind == SENSOR)
            text = f"{device!r} is a {kind.kind}, no sensor; sensors are {sensors}."
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
                f"{device}: the driver's settings are of {type(driver_settings).__name__}; they must be of "
                f"{make.SETTINGS.__name__}, or a mapping."
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
        """A sensor with a given driver.

        Args:
            driver: not open yet.
            settings: as above.
            on_limit: as above.
            clock: the driver's own. With a `ManualClock` the sensor runs in lock step, without a thread: each call that
                waits reads samples until it has what it waits for, or until the clock has passed its time.
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
        self._gate = threading.RLock()  # of open and close
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_open, self._is_stepped = False, isinstance(clock, ManualClock)

    # --- status ---------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """Kind of sensor, as in `registry.DEVICES`."""
        return self._reader.name

    @property
    def period(self) -> float:
        """Between two samples, as set, or as the open sensor says [s]."""
        return self._reader.driver.period

    @property
    def newest(self) -> Reading | None:
        """The newest reading; None before the first. Look at its `time` (or `status().age`) before you use it."""
        return self._reader.newest

    def newer_than(self, number: int, timeout: float) -> Reading | None:
        """The newest reading as soon as its number is greater; None where none came within `timeout` [s]."""
        if self._is_stepped:
            self._step_until(lambda: self.newest is not None and self.newest.number > number, timeout)
        return self._reader.newer_than(number, 0.0 if self._is_stepped else timeout)

    def status(self) -> SensorStatus:
        """Status of the sensor and its wire."""
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
        """Open the wire, find the sensor, and begin to read; nothing happens where it is open already.

        Raises:
            TransportError: the wire cannot be opened.
            NoAnswer: no such sensor answers there.
            InputError: the filter's cut-off is too high for the sensor's rate.
            Refused: bias_at_open is set, and the signal is not steady.
        """
        with self._gate:
            if self._is_open:
                return
            self._reader.open()
            self._ending, self._is_open = threading.Event(), True
            if not self._is_stepped:
                # a daemon: a program that forgets to close it ends nevertheless
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
        """End the thread and free the wire; may be called twice."""
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
                    _log.error("%s: its thread does not end; the wire stays open until it does", self.name)
            self._reader.state, self._reader.reason = SensorState.CLOSED, NOT_OPEN

    def __enter__(self) -> ForceSensor:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests -------------------------------------------------------------------------------------------------
    def bias(self, *, in_device: bool = False, timeout: float | None = None) -> Array:
        """Call the present wrench zero: the mean of the setting `bias_samples` samples, or as the device does it.

        Args:
            in_device: let the device do it (it forgets it without power) instead of the host, whose zero is forgotten.
            timeout: for the samples [s]; by default twice as long as they take, and the silence timeout.

        Returns:
            The zero that is subtracted from now on, in the sensor's axes; zeros with `in_device`.

        Raises:
            Refused: not open; not steady; saturated; the device reports an error, or has no zero; the tool's motion is
                not known.
            NoAnswer: samples did not come in time.
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
                f"{self.name}: within {wait:g} s only {taking.count} of {use.bias_samples} samples came for the zero; "
                f"{reader.reason or 'look at the rate of the sensor'}.",
                field="samples",
                value=taking.count,
                allowed=use.bias_samples,
            ) from None

    def clear_bias(self) -> None:
        """Forget the zero of the host."""
        self._reader.clear_bias()

    def reset(self) -> None:
        """Forget a passed limit, and what the device itself latched; `on_limit` may be called again.

        Raises:
            Refused: not open.
            NoAnswer: the thread waits for the device.
        """
        self._do(self._reader.reset)

    def set_tool_motion(self, motion: ToolMotion | None) -> None:
        """Set the motion of the sensor, needed to subtract its tool; None: it is not known.

        Needed only where tool_mass is set: then at least every `motion_timeout` seconds. `SensorMotion` makes it of
        joint states.
        """
        self._reader.motion = motion

    def _do(self, action: Callable[[], object]) -> None:
        """Run an action in the thread between two samples.

        Raises:
            Refused: not open.
            NoAnswer: it did not come to it in time.
        """
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
                f"{self.name}: it was closed meanwhile; open it first.", field="state", value="closed"
            ) from None
        except FutureTimeout:
            future.cancel()
            raise NoAnswer(
                f"{self.name}: its thread did not come to it within {timeout:g} s; {reader.reason or 'try again'}.",
                field="thread",
            ) from None

    def _result(self, future: Future[T], timeout: float) -> T:
        """Result of a request. Raises FutureTimeout, or the request's own error."""
        if self._is_stepped:
            self._step_until(future.done, timeout)
        return future.result(0.0 if self._is_stepped else timeout)

    def _step_until(self, is_done: Callable[[], bool], timeout: float) -> None:
        """In lock step: read samples until a condition holds, at most until the clock has passed the timeout [s]."""
        deadline = self._clock.now() + timeout
        while self._is_open and not is_done() and self._clock.now() <= deadline:
            self._reader.step(self._ending)
