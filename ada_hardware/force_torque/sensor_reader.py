# SPDX-License-Identifier: Apache-2.0
"""Reading thread of a sensor: reads, processes, detects timeouts, reopens."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import Clock
from ada_dynamics.errors import InputError
from ada_hardware.force_torque.pipeline import Pipeline
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity
from ada_hardware.force_torque.sensor_settings import ForceSensorSettings
from ada_hardware.force_torque.sensor_status import Reading, SampleRate, SensorState
from ada_hardware.force_torque.tool_motion import ToolMotion
from ada_hardware.force_torque.zero import ZeroTaking
from ada_robot.errors import HardwareError, NoAnswer, Refused

_log = logging.getLogger("ada_hardware")
_SLICE = 0.02  # [s] period at which a waiting thread checks for its end
NOT_OPEN = "not open"


class SensorReader:
    """Driver, pipeline and state of a sensor. `run` and the methods it calls belong to one thread.

    Attributes:
        driver: driver in use.
        pipeline: pipeline in use.
        state: connection state.
        reason: reason of the state, the first cause first; "" while samples are received.
        newest: latest reading; None before the first.
        motion: motion of the sensor; None if unknown.
        identity: identity of the sensor; None before it was opened.
        is_biased_here: the host subtracts a zero.
        is_biased_in_device: the device subtracts a zero, if known.
    """

    def __init__(
        self,
        driver: SensorDriver[Any, Any, Any],
        settings: ForceSensorSettings,
        on_limit: Callable[[str], object] | None,
        clock: Clock,
    ) -> None:
        """Create the reader.

        Args:
            driver: driver, not open.
            settings: settings of pipeline and timeouts.
            on_limit: called once with a description when a limit is exceeded.
            clock: clock of the driver [s].
        """
        self.driver, self._settings, self._on_limit, self._clock = driver, settings, on_limit, clock
        # the rate, and thus the validity of the cutoff, is known only when the sensor is open
        self.pipeline = Pipeline(settings, 1e-9)
        self.state, self.reason = SensorState.CLOSED, NOT_OPEN
        self.motion: ToolMotion | None = None
        self.identity: SensorIdentity | None = None
        self._new_reading = threading.Condition()  # notified of a new reading
        self._actions: deque[tuple[Callable[[], object], Future[Any]]] = deque()
        self._zero: tuple[ZeroTaking, Future[Array]] | None = None
        self._begin()

    def _begin(self) -> None:
        self.rate = SampleRate()
        self.newest: Reading | None = None
        self.readings = self.saturated = self.errors = self.uncompensated = self.reopened = 0
        self.is_biased_here = self.is_biased_in_device = self._is_to_reopen = False
        self._last_sample = self._clock()
        self._cause = ""  # first cause of the loss; "" while samples are received
        self._failed_reopens = 0  # successive failed attempts to reopen

    @property
    def name(self) -> str:
        """Device name."""
        return self.driver.NAME

    # --- from outside ---------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Open the driver, before `run`.

        Raises:
            TransportError: the connection cannot be opened.
            NoAnswer: no reply of such a sensor.
            InputError: the filter cutoff is too high for the sample rate.
        """
        self.driver.open()
        try:
            self.pipeline = Pipeline(self._settings, self.driver.period)
        except InputError:
            self.driver.close()
            raise
        self.identity = self.driver.identity()
        self._begin()
        self.state, self.reason = SensorState.READING, ""  # the driver's open has received samples

    def post(self, action: Callable[[], object]) -> Future[Any]:
        """Queue an action for the thread, which runs it between two samples."""
        future: Future[Any] = Future()
        self._actions.append((action, future))
        return future

    def newer_than(self, number: int, timeout: float) -> Reading | None:
        """Wait up to `timeout` [s] for a reading with a greater number; None after the timeout."""
        with self._new_reading:
            self._new_reading.wait_for(lambda: self.newest is not None and self.newest.number > number, timeout)
            newest = self.newest
        return newest if newest is not None and newest.number > number else None

    def clear_bias(self) -> None:
        """Clear the zero of the host."""
        self.pipeline.bias = np.zeros(6)
        self.pipeline.forget_filter()
        self.is_biased_here = False

    # --- the thread -----------------------------------------------------------------------------------------------
    def run(self, ending: threading.Event) -> None:
        """Read until `ending` is set, then close the driver."""
        try:
            while not ending.is_set():
                self.step(ending)
        except BaseException:  # report any error that ends the thread
            _log.exception("%s: an error ended the reading thread", self.name)
            self._mark_lost(SensorState.LOST, "an error ended the reading thread; see the log")
        finally:
            self.finish()

    def step(self, ending: threading.Event) -> None:
        """Run requests, then read a sample, or reopen a sensor lost in an earlier step."""
        is_closed = self._is_to_reopen
        try:
            self._do_actions()
            if not is_closed:
                self._take(self.driver.read())
        except HardwareError as problem:
            self._mark_lost(SensorState.LOST, str(problem))
        if is_closed:
            self._reopen(ending)
        elif self.state is SensorState.LOST and not self._is_to_reopen:
            self._clock.wait(ending, _SLICE)

    def finish(self) -> None:
        """Close the driver and refuse pending requests."""
        self.driver.close()
        self._cancel_zero(Refused(f"{self.name}: closed while the zero was determined.", field="state", value="closed"))
        while self._actions:
            self._actions.popleft()[1].cancel()

    def _do_actions(self) -> None:
        for _ in range(len(self._actions)):
            action, future = self._actions.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(action())
            except BaseException as failure:  # raised in the waiting caller
                future.set_exception(failure)

    def _take(self, sample: Sample) -> None:
        if not sample.is_fresh:
            if self._clock() - self._last_sample > self._settings.silence_timeout:
                self._mark_lost(SensorState.SILENT, f"no sample for {self._settings.silence_timeout:g} s")
            return
        self._last_sample = sample.time
        self.state, self.reason, self._cause, self._failed_reopens = SensorState.READING, "", "", 0
        motion = self.motion
        if self._zero is not None:
            self._take_zero(*self._zero, sample, motion)
        reading = self.pipeline.process(sample, motion)
        self.readings += 1
        self.saturated += reading.is_saturated
        self.errors += bool(reading.error)
        self.uncompensated += not reading.is_compensated
        self.rate.add(sample.time)
        if self.pipeline.passes_limit(reading):
            self._report_limit()
        with self._new_reading:
            self.newest = reading
            self._new_reading.notify_all()

    def _mark_lost(self, state: SensorState, reason: str) -> None:
        """Note that the sensor is silent or lost: report it once, and trip the limits."""
        if self.state is not state:
            _log.warning("%s: %s", self.name, reason)
        self.state = state
        self._explain(reason)
        self._is_to_reopen = self._settings.reopen_after > 0.0
        self._cancel_zero(NoAnswer(f"{self.name}: {reason}", field="samples"))
        limits = self.pipeline.limits
        if limits.is_watching and self._settings.stop_on_fault and limits.trip(reason):
            self._report_limit()

    def _explain(self, words: str) -> None:
        """Set the reason of the state; keeps the first cause since the last sample."""
        self._cause = self._cause or words
        self.reason = self._cause if words == self._cause else f"{self._cause}; then: {words}"

    def _report_limit(self) -> None:
        words = self.pipeline.limits.passed
        _log.warning("%s: limit exceeded: %s", self.name, words)
        if self._on_limit is not None:
            try:
                self._on_limit(f"{self.name}: {words}")
            except Exception:  # an error of the callback must not end the thread
                _log.exception("%s: the on_limit callback failed", self.name)

    def _reopen(self, ending: threading.Event) -> None:
        """Reopen the connection after `reopen_after`; the zero of the host is kept, that of the device may be lost."""
        self.driver.close()
        if self._clock.wait(ending, self._settings.reopen_after):
            return
        self.reopened += 1
        try:
            self.driver.open()
            self.pipeline.set_period(self.driver.period)
        except (HardwareError, InputError) as problem:
            self._failed_reopens += 1
            self.state = SensorState.LOST
            self._explain(f"{self._failed_reopens} failed attempts to reopen: {problem}")
            return
        self.identity = self.driver.identity()
        self.is_biased_in_device = self._is_to_reopen = False
        self._last_sample = self._clock()  # restart the timeout; the first sample sets READING
        self.state = SensorState.SILENT
        self._explain("reopened, no sample received yet")

    # --- requests, in the thread ------------------------------------------------------------------------------------
    def bias_in_device(self) -> None:
        """Use the zero function of the device and clear the zero of the host."""
        self.driver.bias()
        self.clear_bias()
        self.is_biased_in_device = True

    def reset(self) -> None:
        """Clear an exceeded limit and the latched state of the device."""
        self.driver.reset()
        self.pipeline.limits.reset()

    def begin_zero(self, taking: ZeroTaking, future: Future[Array]) -> None:
        """Determine the zero of the host from the next samples."""
        self._cancel_zero(Refused(f"{self.name}: superseded by another request for a zero.", field="bias"))
        self._zero = (taking, future)

    def _take_zero(self, taking: ZeroTaking, future: Future[Array], sample: Sample, motion: ToolMotion | None) -> None:
        wrench, is_compensated = self.pipeline.without_tool(sample, motion)
        field, reason = "error", sample.error
        if sample.is_saturated and not reason:
            field, reason = "range", "an axis is at the end of its range"
        if not is_compensated:
            field, reason = (
                "tool_motion",
                "the tool wrench cannot be subtracted, since the motion of the sensor is unknown (set_tool_motion)",
            )
        if reason:
            self._cancel_zero(Refused(f"{self.name}: zero not determined: {reason}.", field=field))
        elif taking.add(wrench):
            self._zero = None
            if not future.set_running_or_notify_cancel():
                return
            try:
                mean = taking.mean()
            except Refused as refusal:
                future.set_exception(
                    Refused(
                        f"{self.name}: {refusal}", field=refusal.field, value=refusal.value, allowed=refusal.allowed
                    )
                )
                return
            self.pipeline.bias = mean
            self.pipeline.forget_filter()
            self.is_biased_here = True
            future.set_result(mean.copy())

    def _cancel_zero(self, problem: HardwareError) -> None:
        if self._zero is not None:
            _, future = self._zero
            self._zero = None
            if future.set_running_or_notify_cancel():
                future.set_exception(problem)
