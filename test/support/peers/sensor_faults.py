# SPDX-License-Identifier: Apache-2.0
"""Faults of force/torque sensors: what is reported as fresh and without an error must be what pulls at them, now."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.clock import ManualClock
from ada_hardware.force_torque.dynpick.driver import DynPickDriver, DynPickSettings
from ada_hardware.force_torque.rdt.driver import NetFtDriver, NetFtSettings
from ada_robot.errors import HardwareError
from peers.clock import START, LockStepWire
from peers.fault import Do, Fault, Outcome, cable_out, held
from peers.force_sensors import (
    CONDITION,
    OUT_OF_RANGE,
    SENSITIVITY,
    SLOPES,
    SUMMARY,
    WATCHDOG,
    DynPickPeer,
    NetFtPeer,
    load,
)

SAMPLES = 200
ASKED, STREAMED = 0.005, 0.070  # [s] that a sample may be old: its way; 64 records of backlog at 1 kHz, and its way
DYNPICK_COUNT = 1.0 / np.array(SENSITIVITY)


class Scene(NamedTuple):
    """A sensor on its wire, opened."""

    clock: ManualClock
    peer: Any
    driver: Any
    wire: Any


def dynpick(mode: str = "poll") -> Scene:
    clock, peer = ManualClock(START), DynPickPeer()
    line = LockStepWire(clock, peer.hear, 921_600)
    line.source = peer.stream
    driver = DynPickDriver(
        DynPickSettings(url="lockstep:", mode=mode, sensitivity=SENSITIVITY),
        wire=line,
        clock=clock.now,
        sleep=clock.sleep,
    )
    driver.open()
    return Scene(clock, peer, driver, line)


def netft() -> Scene:
    clock, peer = ManualClock(START), NetFtPeer()
    wire = LockStepWire(clock, peer.hear)
    wire.source = peer.stream
    settings = NetFtSettings(url="udp://192.0.2.1:49152", calibration_url="http://192.0.2.1/netftapi2.xml")
    driver = NetFtDriver(settings, wire=wire, clock=clock.now, fetch=lambda _: NetFtPeer.PAGE.encode())
    driver.open()
    return Scene(clock, peer, driver, wire)


def _fault(
    name: str,
    made: Callable[[], Scene],
    fault: Do,
    mend: Do,
    *,
    count: np.ndarray,
    old: float,
    must_not_be_fresh: bool = False,
    must_say: str = "",
) -> Fault:
    def run(number: int) -> Outcome:
        scene = made()
        clock, peer, driver, _ = scene
        peer.chance = random.Random(number)
        unsafe = _read(clock, driver, 20, count, old, "before")[1]
        fault(scene)
        fresh, found, said = 0, [], set()
        try:
            fresh, found, said = _read(clock, driver, SAMPLES, count, old, "with the fault")
        except HardwareError as problem:
            said = {str(problem)}
        unsafe += found
        if must_not_be_fresh and fresh:
            unsafe.append(f"{fresh} samples are reported as fresh")
        if must_say and not any(must_say in one for one in said):
            unsafe.append(f"it does not say {must_say!r}, but {sorted(said)[:2]}")
        mend(scene)
        unsafe += _back(clock, driver, count, old)
        driver.close()
        return Outcome(f"{fresh} of {SAMPLES} samples used", math.nan, unsafe)

    return Fault(name, run, is_cheap=True)


def _back(clock: ManualClock, driver: Any, count: np.ndarray, old: float) -> list[str]:
    """After the fault: what a person, or the node, does is to read on, else to open it anew."""
    fresh, found, _ = 0, [], set()
    try:
        _read(clock, driver, 80, count, old, "")  # what waits may be old
        fresh, found, _ = _read(clock, driver, 50, count, old, "after the fault")
    except HardwareError:
        fresh = 0
    if fresh < 45:
        driver.close()
        driver.open()
        _read(clock, driver, 5, count, old, "")
        fresh, found, _ = _read(clock, driver, 50, count, old, "after it was opened anew")
    return found + ([] if fresh >= 45 else [f"no way back: {fresh} of 50 samples"])


def _read(
    clock: ManualClock, driver: Any, samples: int, count: np.ndarray, old: float, when: str
) -> tuple[int, list[str], set[str]]:
    """Read, and compare what is reported as good with what was there: how many, what is wrong, what was said."""
    fresh, wrong, said = 0, [], set()
    for _ in range(samples):
        clock.advance(0.0002)
        sample = driver.read()
        said |= {one for one in (sample.error, sample.warning) if one}
        if sample.is_saturated:
            said.add("saturated")
        if not sample.is_fresh or sample.error or sample.is_saturated:
            continue
        fresh += 1
        off = min(_off(sample.wrench, sample.time - age, count) for age in np.arange(0.0, old, 0.00025))
        if off > 1.0 and when and len(wrong) < 3:
            wrong.append(
                f"{when}: {np.round(sample.wrench, 3)} is {off:.3g} counts off all that was there for {old:g} s"
            )
    return fresh, wrong, said


def _off(wrench: np.ndarray, at: float, count: np.ndarray) -> float:
    """In counts, and what it changes between two of the looks."""
    return float((np.abs(wrench - load(at)) / (count + np.abs(SLOPES) * 0.00025)).max())


def _letter(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes((chance.choice(b"GXYZ \0\xff"),)) + data[place + 1 :]


def _dynpick_faults(mode: str) -> list[Fault]:
    old = ASKED if mode == "poll" else STREAMED

    def row(name: str, switch: tuple[Do, Do], **how: Any) -> Fault:
        return _fault(f"DynPick, {mode}: {name}", lambda: dynpick(mode), *switch, count=DYNPICK_COUNT, old=old, **how)

    return [
        row("silent", held(is_silent=True), must_not_be_fresh=True),
        row("half of the records lost", held(lose=0.5)),
        row("a letter that is no digit", held(mangle=_letter)),
        row("bytes missing", held(mangle=lambda data, chance: data[: chance.randrange(27)])),
        row("bytes too many", held(mangle=lambda data, chance: data[:5] + b"7" + data[5:]), must_not_be_fresh=True),
        row("noise", held(mangle=lambda data, chance: chance.randbytes(27))),
        row("at the end of its range", held(mangle=_at_the_end), must_say="saturated"),
        row("cable out and in", cable_out, must_not_be_fresh=True),
    ]


def _at_the_end(data: bytes, chance: random.Random) -> bytes:
    return data[:1] + b"3FFF" + data[5:]


def _netft_faults() -> list[Fault]:
    count = np.array([1e-6, 1e-6, 1e-6, 1e-9, 1e-9, 1e-9])

    def row(name: str, switch: tuple[Do, Do], **how: Any) -> Fault:
        return _fault(f"Net F/T: {name}", netft, *switch, count=count, old=STREAMED, **how)

    late = held(delay=lambda number: 0.0035 if number % 5 == 0 else 0.0)
    return [
        row("silent", held(is_silent=True), must_not_be_fresh=True),
        row("half of the records lost", held(lose=0.5)),
        row("records overtake each other", late),
        row("records come twice", held(twice=3)),
        row("records a byte short", held(mangle=lambda data, chance: data[:-1]), must_not_be_fresh=True),
        row("records a byte too long", held(mangle=lambda data, chance: data + b"\0"), must_not_be_fresh=True),
        row("its sensor has stopped", held(frozen=True), must_not_be_fresh=True),
        row("error", held(status=SUMMARY | 0x00000100), must_not_be_fresh=True),
        row("watchdog", held(status=SUMMARY | WATCHDOG), must_not_be_fresh=True),
        row("out of range", held(status=SUMMARY | OUT_OF_RANGE), must_say="saturated"),
        row("a monitored condition", held(status=SUMMARY | CONDITION)),
        row("cable out and in", cable_out, must_not_be_fresh=True),
    ]


def faults() -> list[Fault]:
    return [*_dynpick_faults("poll"), *_dynpick_faults("continuous"), *_netft_faults()]
