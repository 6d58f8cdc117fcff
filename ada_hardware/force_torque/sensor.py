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
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock, ManualClock
from ada_dynamics.errors import InputError
from ada_hardware.force_torque.pipeline import ForceSensorSettings, Pipeline, Reading, steady_mean
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity, SequenceCounts
from ada_hardware.force_torque.tool import SensorGravity
from ada_hardware.registry import DEVICES, SENSOR, find
from ada_robot.driver import LinkCounts
from ada_robot.errors import HardwareError, NoAnswer, Refused, UnknownDevice
from ada_robot.ros.status import Level
from ada_robot.settings import checked

__all__ = [
    "ForceSensor",
    "ForceSensorSettings",
    "Reading",
    "Sample",
    "SensorDriver",
    "SensorGravity",
    "SensorIdentity",
    "SensorState",
    "SensorStatus",
    "SequenceCounts",
]

_log = logging.getLogger("ada_hardware")
_LONGEST_END = 5.0  # [s] for the end of the thread, longer than the open of a driver
_SLICE = 0.02  # [s] period at which a waiting thread checks for its end
_RATE_SPAN = 1.0  # [s] over which the sample rate is computed
_NOT_OPEN = "not open"


class SensorState(Enum):
    """Connection state of a sensor; `newest` is current only in READING."""

    CLOSED = "closed"
    READING = "reading"
    SILENT = "silent"  # connection open, no samples
    LOST = "lost"  # connection failed


@dataclass(frozen=True)
class SensorStatus:
    """Status of a sensor.

    Attributes:
        state: connection state.
        level: worst level of `problems`.
        problems: descriptions of all problems.
        age: age of the latest sample; inf before the first [s].
        rate: samples per second over the last second [Hz].
        readings: number of samples since the sensor was opened.
        saturated: number of saturated samples.
        errors: number of samples with a device error.
        uncompensated: number of samples from which the tool could not be subtracted, since its orientation was unknown.
        bias: zero that is subtracted, in the sensor frame [N, N m].
        is_biased: a zero is in effect.
        passed_limit: description of the first exceeded limit since the last reset; "" without one.
        reopened: number of times the connection was reopened.
        counts: communication statistics.
        sequence: sequence errors of the records.
        identity: identity of the sensor; None before it was opened.
    """

    state: SensorState
    level: Level
    problems: tuple[str, ...]
    age: float
    rate: float
    readings: int
    saturated: int
    errors: int
    uncompensated: int
    bias: Array
    is_biased: bool
    passed_limit: str
    reopened: int
    counts: LinkCounts
    sequence: SequenceCounts
    identity: SensorIdentity | None


class ForceSensor:
    """Sensor with its reading thread and processing pipeline. All methods are thread-safe.

    Attributes:
        settings: settings of the processing.
    """

    def __init__(
        self,
        device: str | SensorDriver[Any, Any],
        driver_settings: object = None,
        settings: ForceSensorSettings | None = None,
        *,
        on_limit: Callable[[str], object] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Create the sensor without opening it.

        Args:
            device: device name in `registry.DEVICES`, or a driver that is not open.
            driver_settings: with a name, instance of the driver's SETTINGS, or a mapping for `settings.checked`.
            settings: settings of the processing; default: no zero, filter, tool or limits.
            on_limit: called with a description in the sensor's thread when a limit is exceeded, such as a robot's
                `stop`; once until `reset`.
            clock: clock of the driver. With a `ManualClock` there is no thread: a call that waits reads samples until
                its condition holds or the clock has passed its timeout.

        Raises:
            UnknownDevice: the device is unknown or not a sensor.
            InputError: invalid settings.
        """
        self.settings = settings or ForceSensorSettings()
        self._driver = _made(device, driver_settings) if isinstance(device, str) else device
        self._on_limit, self._clock, self._is_stepped = on_limit, clock, isinstance(clock, ManualClock)
        # the rate, and thus the validity of the cutoff, is known only when the sensor is open
        self._pipeline = Pipeline(self.settings, 1e-9)
        self._gate = threading.RLock()  # serializes open and close
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_open = False
        self._new_reading = threading.Condition()  # notified of a new reading
        self._gravity: SensorGravity | None = None
        self._identity: SensorIdentity | None = None
        self._state, self._reason = SensorState.CLOSED, _NOT_OPEN
        self._clear_counts()

    def _clear_counts(self) -> None:
        self._times: deque[float] = deque()  # of the samples of the last second
        self._newest: Reading | None = None
        self._readings = self._saturated = self._errors = self._uncompensated = self._reopened = 0
        self._is_biased = self._is_to_reopen = False
        self._last_sample = self._clock()
        self._cause = ""  # first cause of the loss; "" while samples are received
        self._failed_reopens = 0  # successive failed attempts to reopen

    # --- status ---------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """Device name in `registry.DEVICES`."""
        return self._driver.NAME

    @property
    def period(self) -> float:
        """Sample period as set, or as reported by the open sensor [s]."""
        return self._driver.period

    @property
    def newest(self) -> Reading | None:
        """Latest reading; None before the first. Check its `time` (or `status().age`) before use."""
        return self._newest

    def newer_than(self, number: int, timeout: float) -> Reading | None:
        """Wait up to `timeout` [s] for a reading with a greater number; None after the timeout."""

        def found() -> Reading | None:
            newest = self._newest
            return newest if newest is not None and newest.number > number else None

        if self._is_stepped:  # without a thread
            deadline = self._clock.now() + timeout
            while self._is_open and found() is None and self._clock.now() <= deadline:
                self._step(self._ending)
            return found()
        with self._new_reading:
            return self._new_reading.wait_for(found, timeout)

    def status(self) -> SensorStatus:
        """Status of the sensor and its connection."""
        newest, now = self._newest, self._clock()
        rate = self._sample_rate(now)
        problems = self._problems(newest, rate)
        return SensorStatus(
            state=self._state,
            level=max((level for level, _ in problems), default=Level.OK),
            problems=tuple(words for _, words in problems),
            age=float("inf") if newest is None else now - newest.time,
            rate=rate,
            readings=self._readings,
            saturated=self._saturated,
            errors=self._errors,
            uncompensated=self._uncompensated,
            bias=self._pipeline.bias.copy(),
            is_biased=self._is_biased,
            passed_limit=self._pipeline.limits.passed,
            reopened=self._reopened,
            counts=replace(self._driver.counts),
            sequence=replace(self._driver.sequence),
            identity=self._identity,
        )

    def _sample_rate(self, now: float) -> float:
        """Samples per second over the last second [Hz]; 0 with fewer than two."""
        times = list(self._times)
        if len(times) < 2 or now - times[-1] > _RATE_SPAN or times[-1] == times[0]:
            return 0.0
        return (len(times) - 1) / (times[-1] - times[0])

    def _problems(self, newest: Reading | None, rate: float) -> list[tuple[Level, str]]:
        """Problems with their levels; `rate`: sample rate, 0 if unknown [Hz]."""
        found, passed = [], self._pipeline.limits.passed
        if passed:
            found.append((Level.ERROR, f"limit exceeded: {passed}; reset when it is safe"))
        if self._state is not SensorState.READING:
            return [*found, (Level.WARN if self._state is SensorState.CLOSED else Level.ERROR, self._reason)]
        if newest is not None:
            if newest.error:
                found.append((Level.ERROR, newest.error))
            if newest.is_saturated:
                found.append((Level.WARN, "an axis is at the end of its range; the true wrench may be larger"))
            if not newest.is_compensated:
                found.append((Level.WARN, "tool not compensated: the orientation of the sensor is unknown"))
            if newest.warning:
                found.append((Level.WARN, newest.warning))
        if 0.0 < rate * self.period < 0.8:
            found.append((Level.WARN, f"{rate:.0f} samples per second received of {1.0 / self.period:.0f}"))
        return found

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
            self._driver.open()
            try:
                self._pipeline = Pipeline(self.settings, self._driver.period)
            except InputError:
                self._driver.close()
                raise
            self._identity = self._driver.identity
            self._clear_counts()
            self._state, self._reason = SensorState.READING, ""  # the driver's open has received samples
            self._ending, self._is_open = threading.Event(), True
            if not self._is_stepped:
                # a daemon thread, so that a program that does not close the sensor can exit
                name = f"sensor {self.name}"
                self._thread = threading.Thread(target=self._run, args=(self._ending,), name=name, daemon=True)
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
                self._driver.close()
            elif thread is not threading.current_thread():
                thread.join(_LONGEST_END)
                if thread.is_alive():
                    text = "%s: the reading thread does not end; the connection stays open until it does"
                    _log.error(text, self.name)
            self._state, self._reason = SensorState.CLOSED, _NOT_OPEN

    def __enter__(self) -> ForceSensor:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests -------------------------------------------------------------------------------------------------
    def bias(self, *, timeout: float | None = None) -> Array:
        """Use the present wrench as zero: mean of `bias_samples` samples.

        Args:
            timeout: timeout of the samples [s]; default: twice their duration plus the silence timeout.

        Returns:
            Zero that is subtracted from now on, in the sensor frame.

        Raises:
            Refused: not open, not steady, saturated, device error, or unknown orientation of the tool.
            NoAnswer: not enough samples within the timeout.
        """
        use = self.settings
        seen: list[Array] = []
        wait = 2.0 * use.bias_samples * self.period + use.silence_timeout if timeout is None else timeout
        self._require_open()
        number, deadline = 0 if self._newest is None else self._newest.number, self._clock() + wait
        while len(seen) < use.bias_samples:
            left = deadline - self._clock()
            reading = self.newer_than(number, max(min(left, use.silence_timeout), 0.0))
            if reading is None and left > 0.0 and self._state is SensorState.READING:
                continue
            if reading is None:
                raise NoAnswer(
                    f"{self.name}: only {len(seen)} of {use.bias_samples} samples for the zero within {wait:g} s; "
                    f"{self._reason or 'check the rate of the sensor'}.",
                    field="samples",
                    value=len(seen),
                    allowed=use.bias_samples,
                )
            self._require_usable(reading)
            seen.append(reading.without_tool)
            number = reading.number
        try:
            zero = steady_mean(seen, use.steady_force, use.steady_moment)
        except Refused as refusal:
            text = f"{self.name}: {refusal}"
            raise Refused(text, field=refusal.field, value=refusal.value, allowed=refusal.allowed) from None
        self._pipeline.bias = zero
        self._pipeline.forget_filter()
        self._is_biased = True
        return zero.copy()

    def _require_usable(self, reading: Reading) -> None:
        """Check that a reading may be used for a zero; raises Refused."""
        field, reason = "error", reading.error
        if reading.is_saturated and not reason:
            field, reason = "range", "an axis is at the end of its range"
        if not reading.is_compensated:
            field = "gravity"
            reason = "the tool cannot be subtracted, since the orientation of the sensor is unknown (set_gravity)"
        if reason:
            raise Refused(f"{self.name}: zero not determined: {reason}.", field=field)

    def reset(self) -> None:
        """Clear an exceeded limit and the latched state of the device; enables `on_limit` again.

        Raises:
            Refused: not open.
            TransportError: the connection failed.
        """
        self._require_open()
        self._driver.reset()
        self._pipeline.limits.reset()

    def set_gravity(self, gravity: SensorGravity | None) -> None:
        """Set gravity in the axes of the sensor, used to subtract the weight of the tool; None: unknown.

        Needed only if tool_mass is set, at least every `motion_timeout` seconds.
        """
        self._gravity = gravity

    def _require_open(self) -> None:
        """Check that the sensor is open and connected; raises Refused."""
        if not self._is_open or self._state is SensorState.LOST:
            text = f"{self.name}: {self._reason or _NOT_OPEN}; open it first."
            raise Refused(text, field="state", value=self._state.value)

    # --- the thread: all following methods belong to it -----------------------------------------------------------
    def _run(self, ending: threading.Event) -> None:
        """Read until `ending` is set, then close the driver."""
        try:
            while not ending.is_set():
                self._step(ending)
        except BaseException:  # report any error that ends the thread
            _log.exception("%s: an error ended the reading thread", self.name)
            self._mark_lost(SensorState.LOST, "an error ended the reading thread; see the log")
        finally:
            self._driver.close()

    def _step(self, ending: threading.Event) -> None:
        """Read a sample, or reopen a sensor lost in an earlier step."""
        if self._is_to_reopen:
            self._reopen(ending)
            return
        try:
            self._take(self._driver.read())
        except HardwareError as problem:
            self._mark_lost(SensorState.LOST, str(problem))
            if not self._is_to_reopen:
                self._clock.wait(ending, _SLICE)

    def _take(self, sample: Sample) -> None:
        if not sample.is_fresh:
            if self._clock() - self._last_sample > self.settings.silence_timeout:
                self._mark_lost(SensorState.SILENT, f"no sample for {self.settings.silence_timeout:g} s")
            return
        self._last_sample = sample.time
        self._state, self._reason, self._cause, self._failed_reopens = SensorState.READING, "", "", 0
        reading = self._pipeline.process(sample, self._gravity)
        self._readings += 1
        self._saturated += reading.is_saturated
        self._errors += bool(reading.error)
        self._uncompensated += not reading.is_compensated
        self._times.append(sample.time)
        while sample.time - self._times[0] > _RATE_SPAN:
            self._times.popleft()
        if self._pipeline.passes_limit(reading):
            self._report_limit()
        with self._new_reading:
            self._newest = reading
            self._new_reading.notify_all()

    def _mark_lost(self, state: SensorState, reason: str) -> None:
        """Note that the sensor is silent or lost: report it once, and trip the limits."""
        if self._state is not state:
            _log.warning("%s: %s", self.name, reason)
        self._state = state
        self._explain(reason)
        self._is_to_reopen = self.settings.reopen_after > 0.0
        limits = self._pipeline.limits
        if limits.is_watching and self.settings.stop_on_fault and limits.trip(reason):
            self._report_limit()

    def _explain(self, words: str) -> None:
        """Set the reason of the state; keeps the first cause since the last sample."""
        self._cause = self._cause or words
        self._reason = self._cause if words == self._cause else f"{self._cause}; then: {words}"

    def _report_limit(self) -> None:
        words = self._pipeline.limits.passed
        _log.warning("%s: limit exceeded: %s", self.name, words)
        if self._on_limit is not None:
            try:
                self._on_limit(f"{self.name}: {words}")
            except Exception:  # an error of the callback must not end the thread
                _log.exception("%s: the on_limit callback failed", self.name)

    def _reopen(self, ending: threading.Event) -> None:
        """Reopen the connection after `reopen_after`; the zero is kept."""
        self._driver.close()
        if self._clock.wait(ending, self.settings.reopen_after):
            return
        self._reopened += 1
        try:
            self._driver.open()
            self._pipeline.set_period(self._driver.period)
        except (HardwareError, InputError) as problem:
            self._failed_reopens += 1
            self._state = SensorState.LOST
            self._explain(f"{self._failed_reopens} failed attempts to reopen: {problem}")
            return
        self._identity = self._driver.identity
        self._is_to_reopen = False
        self._last_sample = self._clock()  # restart the timeout; the first sample sets READING
        self._state = SensorState.SILENT
        self._explain("reopened, no sample received yet")


def _made(device: str, settings: object) -> SensorDriver[Any, Any]:
    """Create the driver of a device; raises UnknownDevice or InputError."""
    kind = find(device)
    if kind.kind != SENSOR:
        sensors = tuple(one.name for one in DEVICES.values() if one.kind == SENSOR)
        text = f"{device!r} is a {kind.kind}, not a sensor; sensors are {', '.join(sensors)}."
        raise UnknownDevice(text, field="device", value=device, allowed=sensors)
    make = kind.driver_class()
    if isinstance(settings, Mapping):
        settings = checked(make.SETTINGS, settings)
    if not isinstance(settings, make.SETTINGS):
        given, wanted = type(settings).__name__, make.SETTINGS.__name__
        text = f"{device}: driver_settings is a {given}; required is {wanted} or a mapping."
        raise InputError(text, field="driver_settings", value=given, allowed=wanted)
    driver: SensorDriver[Any, Any] = make(settings)
    return driver
