# SPDX-License-Identifier: Apache-2.0
"""Checks of a force/torque sensor: rate, losses, noise, zero; with an emulator also units, saturation and timeout."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.force_torque.pipeline import AXES
from ada_hardware.force_torque.sensor import ForceSensor, ForceSensorSettings, SensorState, SensorStatus
from ada_hardware.force_torque.sensor_driver import SensorIdentity
from ada_hardware.self_test.checks import Checks
from ada_hardware.self_test.device import Plugged
from ada_hardware.self_test.reference_thread import SOME, ReferenceThread, waited
from ada_hardware.self_test.robot_checks import open_it
from ada_robot.errors import HardwareError

LEAST_RATE = 0.8  # fraction of the set rate, as in the status of the sensor
MOST_LOST = 0.01  # fraction of records
_FIRST = 2.0  # [s] timeout of the first reading
_LOOK = 0.005  # [s] shortest sampling interval of noise, which must not disturb the reading thread
_LOAD = -20.0  # [N] along z
_LOAD_ERROR = 0.2  # [N]: 1 % of it
_PATIENCE = 5.0  # [s] beyond the timeouts of the sensor
# Loads or status bits that saturate an emulated sensor
_SATURATE: Mapping[str, tuple[str, float]] = {"onrobot": ("status", float(0x0080))}
_FAR = ("fz", 1e7)


def check_sensor(plug: Plugged, checks: Checks, seconds: float) -> None:
    """Run all checks of a sensor.

    Raises:
        TestEnded: it cannot be opened, or sends no samples.
    """
    use = plug.target.sensing()
    sensor = ForceSensor(plug.target.kind.name, plug.settings, use)
    try:
        open_it(plug, checks, sensor.open, lambda: sensor.status().counts)
        _check_identity(sensor.status().identity, checks)
        delayed = waited(f"sensor {sensor.name}")
        with ReferenceThread(sensor.period) as bare:
            before, raw = _collect(sensor, checks, seconds)
        lost = (waited(f"sensor {sensor.name}") - delayed) / seconds  # fraction of time without a processor
        _check_rate(sensor, before, seconds, min(bare.kept, 1.0 - lost), checks)
        _check_state(sensor, checks)
        _check_noise(raw, use, checks)
        _check_zero(sensor, use, checks)
        if plug.emulator is not None:
            _check_load(sensor, plug.emulator, checks)
            _check_saturation(sensor, plug.emulator, checks)
            _check_silence(sensor, plug.emulator, use, checks)
    finally:
        sensor.close()
    with checks.needed("free again"):
        sensor.open()
    sensor.close()
    checks.ok("free again", "closed and opened again")


def _check_identity(identity: SensorIdentity | None, checks: Checks) -> None:
    if identity is None:
        checks.fail("identity", "no identity reported")
        return
    scales = identity.scale
    shown = " ".join(f"{scale:g}" for scale in scales)
    version = f", version {identity.version}" if identity.version else ""
    is_usable = all(np.isfinite(scales)) and min(scales) > 0.0
    checks.judge(
        "identity",
        "" if is_usable else "a scale is not positive; set it from the data sheet",
        f"{identity.name}{version}; counts per N and N m {shown}, from its {identity.source}",
        product=identity.name,
        version=identity.version,
        scales=scales,
        source=identity.source,
    )


def _collect(sensor: ForceSensor, checks: Checks, seconds: float) -> tuple[SensorStatus, Array]:
    """Collect raw wrenches; return them and the status before."""
    if sensor.newer_than(0, _FIRST) is None:
        raise checks.end("samples", f"no sample within {_FIRST:g} s; {'; '.join(sensor.status().problems)}")
    before, end, number, found = sensor.status(), time.monotonic() + seconds, 0, []
    while time.monotonic() < end:
        time.sleep(min(max(sensor.period, _LOOK), max(end - time.monotonic(), 0.0)))
        newest = sensor.newest
        if newest is not None and newest.number != number:
            number = newest.number
            found.append(newest.raw)
    return before, np.array(found).reshape(-1, 6)


def _check_rate(sensor: ForceSensor, before: SensorStatus, seconds: float, had: float, checks: Checks) -> None:
    """Check the number of received and lost samples; `had`: fraction of time in which this process could run."""
    status, wanted = sensor.status(), 1.0 / sensor.period
    count = status.readings - before.readings
    rate = count / seconds
    said = f"{status.counts.last_problem}. " if status.counts.last_problem else ""
    busy = f"; the machine is busy: this process had {100.0 * had:.0f} % of the time" if had < 1.0 - SOME else ""
    why = f"{said}Check cable and network"
    slow = f"less than {100.0 * LEAST_RATE:g} % of them; {why}. A lower `rate` of the driver may help"
    checks.judge(
        "rate",
        slow if rate < LEAST_RATE * wanted * had else "",
        f"{rate:.0f} samples per second of {wanted:.0f}{busy}",
        rate_hz=rate,
        wanted_hz=wanted,
    )
    sequence, old = status.sequence, before.sequence
    lost, doubled = sequence.lost - old.lost, sequence.duplicated - old.duplicated
    late, damaged = sequence.reordered - old.reordered, status.counts.refused - before.counts.refused
    share = (lost + damaged) / max(count + lost + damaged, 1)
    checks.judge(
        "losses",
        f"more than {100.0 * MOST_LOST:g} %; {why}" if share > MOST_LOST else "",
        f"{lost} lost, {late} late, {doubled} duplicate, {damaged} damaged or skipped, of {count + lost + damaged}",
        lost_share=share,
        lost=lost,
        late=late,
        doubled=doubled,
        damaged=damaged,
    )


def _check_state(sensor: ForceSensor, checks: Checks) -> None:
    status, newest = sensor.status(), sensor.newest
    words = (
        [] if newest is None else [newest.error, newest.warning, *(["it is saturated"] if newest.is_saturated else [])]
    )
    if status.saturated or status.errors:
        words.append("remove the load, and check the sensor's web page or manual")
    text = f"{status.saturated} saturated, {status.errors} with a device error, of {status.readings} samples"
    problem = "; ".join(word for word in words if word)
    checks.judge("state", problem, text, saturated=status.saturated, errors=status.errors, values=dict(status.values))


def _check_noise(raw: Array, use: ForceSensorSettings, checks: Checks) -> None:
    noise, mean = (np.std(raw, axis=0), np.mean(raw, axis=0)) if len(raw) else (np.full(6, np.nan), np.full(6, np.nan))
    most = np.array([use.steady_force] * 3 + [use.steady_moment] * 3)
    loud = [name for name, is_quiet in zip(AXES, noise <= most, strict=True) if not is_quiet]
    problem = (
        f"{', '.join(loud)} is not steady; keep robot and tool at rest, check the shield of the cable" if loud else ""
    )
    checks.judge(
        "noise",
        problem,
        f"standard deviation {_wrench(noise)}; mean {_wrench(mean)}",
        deviation=noise.tolist(),
        mean=mean.tolist(),
    )


def _check_zero(sensor: ForceSensor, use: ForceSensorSettings, checks: Checks) -> None:
    try:
        taken = sensor.bias()
        rest = _mean(sensor, lambda reading: True)
    except HardwareError as problem:
        checks.fail("zero", str(problem))
        return
    most = np.array([use.steady_force] * 3 + [use.steady_moment] * 3)
    off = bool(np.any(np.abs(rest) > most))
    checks.judge(
        "zero",
        "not zero afterwards: check that nothing touches the sensor" if off else "",
        f"{_wrench(taken)} subtracted, {_wrench(rest)} left",
        taken=taken.tolist(),
        left=rest.tolist(),
    )


# --- emulated sensors ---------------------------------------------------------------------------------------------
def _check_load(sensor: ForceSensor, emulator: EmulatorProcess, checks: Checks) -> None:
    emulator.fault("fz", _LOAD)
    try:
        found = _mean(sensor, lambda wrench: abs(wrench[2]) > 0.5 * abs(_LOAD))
    except HardwareError as problem:
        checks.fail("units", str(problem))
        return
    finally:
        emulator.fault("fz", 0.0)
    others = float(np.abs(np.delete(found, 2)).max())
    is_right = abs(found[2] - _LOAD) <= _LOAD_ERROR and others <= _LOAD_ERROR
    text = f"a load of {_LOAD:g} N along z reads {found[2]:.3f} N, others up to {others:.2g}"
    checks.judge("units", "" if is_right else "scales or axes are wrong", text, load_n=_LOAD, read_n=float(found[2]))


def _check_saturation(sensor: ForceSensor, emulator: EmulatorProcess, checks: Checks) -> None:
    name, value = _SATURATE.get(sensor.name, _FAR)
    emulator.fault(name, value)
    is_seen = _comes(sensor, lambda: bool(sensor.newest and sensor.newest.is_saturated and not sensor.newest.is_valid))
    emulator.fault(name, 0.0)
    is_over = _comes(sensor, lambda: bool(sensor.newest and not sensor.newest.is_saturated))
    problem = "" if is_seen and is_over else f"reported {is_seen}, cleared {is_over}"
    checks.judge("saturation", problem, "reported while it lasts, the wrench marked invalid" if not problem else "")


def _check_silence(sensor: ForceSensor, emulator: EmulatorProcess, use: ForceSensorSettings, checks: Checks) -> None:
    begin = time.monotonic()
    emulator.fault("silence", 1.0)
    is_noticed = _comes(sensor, lambda: sensor.status().state is not SensorState.READING, use.silence_timeout)
    after = time.monotonic() - begin
    emulator.fault("silence", 0.0)
    is_back = _comes(sensor, lambda: sensor.status().state is SensorState.READING, use.reopen_after + 2.0)
    problem = "" if is_noticed and is_back else f"detected {is_noticed}, recovered {is_back}"
    text = f"detected after {after:.2f} s, recovered by itself" if not problem else ""
    checks.judge("silence of the sensor", problem, text, noticed_s=after)


def _mean(sensor: ForceSensor, is_wanted: Callable[[Array], bool], count: int = 100) -> Array:
    """Return the mean of `count` readings, starting at the first one that satisfies `is_wanted`."""
    found: list[Array] = []
    number = sensor.newest.number if sensor.newest is not None else 0
    end = time.monotonic() + _PATIENCE
    while len(found) < count:
        reading = sensor.newer_than(number, max(end - time.monotonic(), 0.0))
        if reading is None:
            raise HardwareError(f"{sensor.name}: {len(found)} of {count} readings received in {_PATIENCE:g} s.")
        number = reading.number
        if found or is_wanted(reading.wrench):
            found.append(reading.wrench)
    return np.asarray(np.mean(found, axis=0))


def _comes(sensor: ForceSensor, is_so: Callable[[], bool], timeout: float = 0.0) -> bool:
    """Return True if a condition becomes true within the timeout plus `_PATIENCE`."""
    end = time.monotonic() + timeout + _PATIENCE
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(min(sensor.period, 0.01))
    return True


def _wrench(values: Array) -> str:
    f, n = (" ".join(f"{value:.2g}" for value in part) for part in (values[:3], values[3:]))
    return f"[{f}] N [{n}] N m"
