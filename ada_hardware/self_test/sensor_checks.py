# SPDX-License-Identifier: Apache-2.0
"""Checks of a force/torque sensor: rate, losses, state, noise, zero."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.force_torque.pipeline import AXES
from ada_hardware.force_torque.sensor import ForceSensor, ForceSensorSettings, Reading, SensorStatus
from ada_hardware.self_test.checks import Checks, Finding, TestEnded
from ada_hardware.self_test.device import Plugged
from ada_hardware.self_test.robot_checks import free_again, open_it
from ada_robot.errors import NoAnswer

LEAST_RATE = 0.8  # fraction of the set rate, as in the status of the sensor
MOST_LOST = 0.01  # fraction of records
_FIRST = 2.0  # [s] timeout of the first reading
_LOOK = 0.005  # [s] shortest sampling interval of noise, which must not disturb the reading thread
_AFTER = 0.5  # [s] of readings after the zero


class Series(NamedTuple):
    """Measurements of a sensor during some seconds."""

    sensor: ForceSensor  # the open sensor
    use: ForceSensorSettings  # settings of the processing
    before: SensorStatus  # status before
    raw: Array  # raw wrenches
    seconds: float  # duration [s]
    is_real: bool  # a real sensor; the rate of an emulated one depends on this machine

    @property
    def most(self) -> Array:
        """Largest standard deviations of a steady signal, and largest errors of a zero [N, N m]."""
        return np.array([self.use.steady_force] * 3 + [self.use.steady_moment] * 3)


def check_sensor(plug: Plugged, checks: Checks, seconds: float) -> None:
    """Run all checks of a sensor.

    Raises:
        TestEnded: it cannot be opened, or sends no samples.
    """
    sensor = ForceSensor(plug.target.kind.name, plug.settings, plug.target.sensing())
    try:
        open_it(plug, checks, sensor.open, lambda: sensor.status().counts)
        checks.measure("identity", partial(_identity, sensor))
        try:
            series = _collect(sensor, seconds, plug.target.is_real)
        except NoAnswer as problem:
            checks.fail("samples", str(problem))
            raise TestEnded from None
        for name, measure in SENSOR_CHECKS:
            checks.measure(name, partial(measure, series))
    finally:
        sensor.close()
    checks.measure("free again", lambda: free_again(sensor))


def _identity(sensor: ForceSensor) -> Finding:
    identity = sensor.status().identity
    if identity is None:
        return Finding("", "no identity reported")
    scales = identity.scale
    shown = " ".join(f"{scale:g}" for scale in scales)
    version = f", version {identity.version}" if identity.version else ""
    is_usable = all(np.isfinite(scales)) and min(scales) > 0.0
    return Finding(
        f"{identity.name}{version}; counts per N and N m {shown}, from its {identity.source}",
        "" if is_usable else "a scale is not positive; set it from the data sheet",
        {"product": identity.name, "version": identity.version, "scales": scales, "source": identity.source},
    )


def _collect(sensor: ForceSensor, seconds: float, is_real: bool) -> Series:
    """Collect raw wrenches; raises NoAnswer if there is no sample."""
    if sensor.newer_than(0, _FIRST) is None:
        raise NoAnswer(f"no sample within {_FIRST:g} s; {'; '.join(sensor.status().problems)}")
    before = sensor.status()
    raw = [one.raw for one in _readings(sensor, seconds)]
    return Series(sensor, sensor.settings, before, np.array(raw).reshape(-1, 6), seconds, is_real)


def _readings(sensor: ForceSensor, seconds: float) -> list[Reading]:
    """Collect readings for a time [s]."""
    end = time.monotonic() + seconds
    found: list[Reading] = []
    while (left := end - time.monotonic()) > 0.0:
        time.sleep(min(max(sensor.period, _LOOK), left))
        newest = sensor.newest
        if newest is not None and (not found or newest.number != found[-1].number):
            found.append(newest)
    return found


def _why(status: SensorStatus) -> str:
    said = f"{status.counts.last_problem}. " if status.counts.last_problem else ""
    return f"{said}Check cable and network"


def _rate(series: Series) -> Finding:
    status, wanted = series.sensor.status(), 1.0 / series.sensor.period
    rate = (status.readings - series.before.readings) / series.seconds
    slow = f"less than {100.0 * LEAST_RATE:g} % of them; {_why(status)}. A lower `rate` of the driver may help"
    return Finding(
        f"{rate:.0f} samples per second of {wanted:.0f}",
        slow if series.is_real and rate < LEAST_RATE * wanted else "",
        {"rate_hz": rate, "wanted_hz": wanted},
    )


def _losses(series: Series) -> Finding:
    status, before = series.sensor.status(), series.before
    sequence, old = status.sequence, before.sequence
    lost, late = sequence.lost - old.lost, sequence.late - old.late
    damaged = status.counts.refused - before.counts.refused
    count = status.readings - before.readings + lost + damaged
    share = (lost + damaged) / max(count, 1)
    return Finding(
        f"{lost} lost, {late} late or repeated, {damaged} damaged or skipped, of {count}",
        f"more than {100.0 * MOST_LOST:g} %; {_why(status)}" if share > MOST_LOST else "",
        {"lost_share": share, "lost": lost, "late": late, "damaged": damaged},
    )


def _state(series: Series) -> Finding:
    status, newest = series.sensor.status(), series.sensor.newest
    words = [] if newest is None else [newest.error, newest.warning, "it is saturated" if newest.is_saturated else ""]
    if status.saturated or status.errors:
        words.append("remove the load, and check the sensor's web page or manual")
    return Finding(
        f"{status.saturated} saturated, {status.errors} with a device error, of {status.readings} samples",
        "; ".join(word for word in words if word),
        {"saturated": status.saturated, "errors": status.errors},
    )


def _noise(series: Series) -> Finding:
    raw = series.raw if len(series.raw) else np.full((1, 6), np.nan)
    noise, mean = np.std(raw, axis=0), np.mean(raw, axis=0)
    loud = [name for name, is_quiet in zip(AXES, noise <= series.most, strict=True) if not is_quiet]
    remedy = f"{', '.join(loud)} is not steady; keep robot and tool at rest, check the shield of the cable"
    return Finding(
        f"standard deviation {_wrench(noise)}; mean {_wrench(mean)}",
        remedy if loud else "",
        {"deviation": noise.tolist(), "mean": mean.tolist()},
    )


def _zero(series: Series) -> Finding:
    taken = series.sensor.bias()
    left = [one.wrench for one in _readings(series.sensor, _AFTER)[1:]]  # the first may be from before
    rest = np.mean(left or [np.full(6, np.nan)], axis=0)
    off = not np.all(np.abs(rest) <= series.most)
    return Finding(
        f"{_wrench(taken)} subtracted, {_wrench(rest)} left",
        "not zero afterwards: check that nothing touches the sensor" if off else "",
        {"taken": taken.tolist(), "left": rest.tolist()},
    )


SENSOR_CHECKS: Sequence[tuple[str, Callable[[Series], Finding]]] = (
    ("rate", _rate),
    ("losses", _losses),
    ("state", _state),
    ("noise", _noise),
    ("zero", _zero),
)


def _wrench(values: Array) -> str:
    f, n = (" ".join(f"{value:.2g}" for value in part) for part in (values[:3], values[3:]))
    return f"[{f}] N [{n}] N m"
