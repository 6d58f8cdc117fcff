# SPDX-License-Identifier: Apache-2.0
"""The thread of a sensor: reads, processes, notices silence, reopens."""

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
_SLICE = 0.02  # [s] after which a waiting thread checks whether it is to end
NOT_OPEN = "it is not open"


class SensorReader:
    """A driver, the pipeline behind it, and where both are. `run` and all that it calls belong to one thread.

    Attributes:
        driver: in use.
        pipeline: in use.
        state: where the sensor is.
        reason: words on that, what came first before the rest; "" while it is read.
        newest: reading; None before the first.
        motion: of the sensor, as far as it is known.
        identity: of the sensor; None before it was opened.
        is_biased_here: whether the host takes a zero off.
        is_biased_in_device: whether the device does, as far as is known.
    """

    def __init__(
        self,
        driver: SensorDriver[Any, Any, Any],
        settings: ForceSensorSettings,
        on_limit: Callable[[str], object] | None,
        clock: Clock,
    ) -> None:
        """Prepare.

        Args:
            driver: not open yet.
            settings: of the pipeline, and of silence.
            on_limit: called once with words when a limit is passed.
            clock: steady time, that of the driver [s].
        """
        self.driver, self._settings, self._on_limit, self._clock = driver, settings, on_limit, clock
        # the rate, and with it whether the filter can be, is known when the sensor is open
        self.pipeline = Pipeline(settings, 1e-9)
        self.state, self.reason = SensorState.CLOSED, NOT_OPEN
        self.motion: ToolMotion | None = None
        self.identity: SensorIdentity | None = None
        self._come = threading.Condition()  # of the newest reading
        self._actions: deque[tuple[Callable[[], object], Future[Any]]] = deque()
        self._zero: tuple[ZeroTaking, Future[Array]] | None = None
        self._begin()

    def _begin(self) -> None:
        self.rate = SampleRate()
        self.newest: Reading | None = None
        self.readings = self.saturated = self.errors = self.uncompensated = self.reopened = 0
        self.is_biased_here = self.is_biased_in_device = self._is_to_reopen = False
        self._last_sample = self._clock()
        self._cause = ""  # what it was lost by first; "" while it is read
        self._vain = 0  # failed attempts in a row to reopen it

    @property
    def name(self) -> str:
        """Kind of sensor."""
        return self.driver.NAME

    # --- from outside ---------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Open the driver, before `run`.

        Raises:
            TransportError: the wire cannot be opened.
            NoAnswer: no such sensor answers there.
            InputError: the filter's cut-off is too high for the sensor's rate.
        """
        self.driver.open()
        try:
            self.pipeline = Pipeline(self._settings, self.driver.period)
        except InputError:
            self.driver.close()
            raise
        self.identity = self.driver.identity()
        self._begin()
        self.state, self.reason = SensorState.READING, ""  # the driver's open saw that samples come

    def post(self, action: Callable[[], object]) -> Future[Any]:
        """Run an action in the thread between two samples."""
        future: Future[Any] = Future()
        self._actions.append((action, future))
        return future

    def newer_than(self, number: int, timeout: float) -> Reading | None:
        """The newest reading as soon as its number is greater; None where none came within `timeout` [s]."""
        with self._come:
            self._come.wait_for(lambda: self.newest is not None and self.newest.number > number, timeout)
            newest = self.newest
        return newest if newest is not None and newest.number > number else None

    def clear_bias(self) -> None:
        """Forget the zero of the host."""
        self.pipeline.bias = np.zeros(6)
        self.pipeline.forget_filter()
        self.is_biased_here = False

    # --- the thread -----------------------------------------------------------------------------------------------
    def run(self, ending: threading.Event) -> None:
        """Read until the end; then the driver is closed."""
        try:
            while not ending.is_set():
                self.step(ending)
        except BaseException:  # no error may end the thread silently
            _log.exception("%s: the sensor's thread was ended by an error", self.name)
            self._lose(SensorState.LOST, "its thread was ended by an error, which is in the log")
        finally:
            self.finish()

    def step(self, ending: threading.Event) -> None:
        """Carry out requests, then read a sample, or reopen a sensor that was lost in an earlier step."""
        is_closed = self._is_to_reopen
        try:
            self._do_actions()
            if not is_closed:
                self._take(self.driver.read())
        except HardwareError as problem:
            self._lose(SensorState.LOST, str(problem))
        if is_closed:
            self._reopen(ending)
        elif self.state is SensorState.LOST and not self._is_to_reopen:
            self._clock.wait(ending, _SLICE)

    def finish(self) -> None:
        """Close the driver and refuse pending requests."""
        self.driver.close()
        self._cancel_zero(
            Refused(f"{self.name}: it was closed while the zero was taken.", field="state", value="closed")
        )
        while self._actions:
            self._actions.popleft()[1].cancel()

    def _do_actions(self) -> None:
        for _ in range(len(self._actions)):
            action, future = self._actions.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(action())
            except BaseException as failure:  # the waiting caller handles it
                future.set_exception(failure)

    def _take(self, sample: Sample) -> None:
        if not sample.is_fresh:
            if self._clock() - self._last_sample > self._settings.silence_timeout:
                self._lose(SensorState.SILENT, f"no sample came for {self._settings.silence_timeout:g} s")
            return
        self._last_sample = sample.time
        self.state, self.reason, self._cause, self._vain = SensorState.READING, "", "", 0
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
        with self._come:
            self.newest = reading
            self._come.notify_all()

    def _lose(self, state: SensorState, reason: str) -> None:
        """The sensor is silent or gone: report it once, and stop what relies on it."""
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
        """Set the reason of the state; the first cause since the last sample stays in it."""
        self._cause = self._cause or words
        self.reason = self._cause if words == self._cause else f"{self._cause}; then: {words}"

    def _report_limit(self) -> None:
        words = self.pipeline.limits.passed
        _log.warning("%s: a limit was passed: %s", self.name, words)
        if self._on_limit is not None:
            try:
                self._on_limit(f"{self.name}: {words}")
            except Exception:  # an error of the callback must not end the sensor
                _log.exception("%s: what is called on a passed limit failed", self.name)

    def _reopen(self, ending: threading.Event) -> None:
        """Open the wire anew, after a while; the zero of the host stays, that of the device may be lost."""
        self.driver.close()
        if self._clock.wait(ending, self._settings.reopen_after):
            return
        self.reopened += 1
        try:
            self.driver.open()
            self.pipeline.set_period(self.driver.period)
        except (HardwareError, InputError) as problem:
            self._vain += 1
            self.state = SensorState.LOST
            self._explain(f"opened anew in vain {self._vain} times: {problem}")
            return
        self.identity = self.driver.identity()
        self.is_biased_in_device = self._is_to_reopen = False
        self._last_sample = self._clock()  # it has the whole time again; READING begins with its first sample
        self.state = SensorState.SILENT
        self._explain("it was opened anew, and no sample came yet")

    # --- requests, in the thread ------------------------------------------------------------------------------------
    def bias_in_device(self) -> None:
        """Let the device take its zero; that of the host is forgotten."""
        self.driver.bias()
        self.clear_bias()
        self.is_biased_in_device = True

    def reset(self) -> None:
        """Forget a passed limit, and what the device latched."""
        self.driver.reset()
        self.pipeline.limits.reset()

    def begin_zero(self, taking: ZeroTaking, future: Future[Array]) -> None:
        """Take the zero of the host from the next samples."""
        self._cancel_zero(Refused(f"{self.name}: another zero was asked for meanwhile.", field="bias"))
        self._zero = (taking, future)

    def _take_zero(self, taking: ZeroTaking, future: Future[Array], sample: Sample, motion: ToolMotion | None) -> None:
        wrench, is_compensated = self.pipeline.without_tool(sample, motion)
        field, reason = "error", sample.error
        if sample.is_saturated and not reason:
            field, reason = "range", "an axis is at the end of its range"
        if not is_compensated:
            field, reason = (
                "tool_motion",
                "the tool cannot be taken off, as how the sensor moves is not known (set_tool_motion)",
            )
        if reason:
            self._cancel_zero(Refused(f"{self.name}: no zero was taken: {reason}.", field=field))
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
