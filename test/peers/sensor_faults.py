# SPDX-License-Identifier: Apache-2.0
"""Faults of force/torque sensors: what is told as fresh and without an error must be what pulls at them, now."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from ada_hardware.force_torque.dynpick.driver import DynPickDriver, DynPickSettings
from ada_hardware.force_torque.rdt.netft import NetFtDriver, NetFtSettings
from ada_robot.errors import HardwareError
from peers.clock import Clock, LockStepLine, LockStepPackets
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
from peers.trial import Fault, Outcome

SAMPLES = 200
ASKED, STREAMED = 0.005, 0.070  # [s] that a sample may be old: its way; 64 records of backlog at 1 kHz, and its way
DYNPICK_COUNT = 1.0 / np.array(SENSITIVITY)
Set = Callable[[Any], object]


def dynpick(mode: str = "poll") -> tuple[Clock, DynPickPeer, DynPickDriver, Any]:
    """A DynPick on its line, opened."""
    clock, peer = Clock(), DynPickPeer()
    line = LockStepLine(clock, peer.hear, 921_600)
    line.arrivals.source = peer.stream
    driver = DynPickDriver(
        DynPickSettings(url="lockstep:", mode=mode, sensitivity=SENSITIVITY),
        wire=line,
        clock=clock.now,
        sleep=clock.wait,
    )
    driver.open()
    return clock, peer, driver, line.arrivals


def netft() -> tuple[Clock, NetFtPeer, NetFtDriver, Any]:
    """A Net F/T on its wire, opened."""
    clock, peer = Clock(), NetFtPeer()
    wire = LockStepPackets(clock, peer.hear, "the host")
    wire.arrivals.source = peer.stream
    settings = NetFtSettings(url="udp://192.0.2.1:49152", calibration_url="http://192.0.2.1/netftapi2.xml")
    driver = NetFtDriver(settings, wire=wire, clock=clock.now, fetch=lambda url, timeout: NetFtPeer.PAGE.encode())
    driver.open()
    return clock, peer, driver, wire.arrivals


def _fault(name: str, made: Callable[[], tuple[Clock, Any, Any, Any]], fault: Set, mend: Set, *, count: np.ndarray,
           old: float, must_not_be_fresh: bool = False, must_say: str = "", cheap: bool = True) -> Fault:  # fmt: skip
    def run(number: int) -> Outcome:
        clock, peer, driver, arrivals = made()
        peer.chance = random.Random(number)
        unsafe = _read(clock, driver, 20, count, old, "before")[1]
        fault(arrivals if "cable" in name else peer)
        fresh, found, said = 0, [], set()
        try:
            fresh, found, said = _read(clock, driver, SAMPLES, count, old, "with the fault")
        except HardwareError as problem:
            said = {str(problem)}
        unsafe += found
        if must_not_be_fresh and fresh:
            unsafe.append(f"{fresh} samples are told as fresh")
        if must_say and not any(must_say in one for one in said):
            unsafe.append(f"it does not say {must_say!r}, but {sorted(said)[:2]}")
        mend(arrivals if "cable" in name else peer)
        unsafe += _back(clock, driver, count, old)
        driver.close()
        return Outcome(f"{fresh} of {SAMPLES} samples used", math.nan, unsafe)

    return Fault(name, run, is_cheap=cheap)


def _back(clock: Clock, driver: Any, count: np.ndarray, old: float) -> list[str]:
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
    clock: Clock, driver: Any, samples: int, count: np.ndarray, old: float, when: str
) -> tuple[int, list[str], set[str]]:
    """Read, and compare what is told as good with what was there: how many, what is wrong, what was said."""
    fresh, wrong, said = 0, [], set()
    for _ in range(samples):
        clock.wait(0.0002)
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


def _set(**values: object) -> Set:
    def do(peer: Any) -> None:
        for name, value in values.items():
            setattr(peer, name, value)

    return do


def _mangled(change: Callable[[bytes, random.Random], bytes | None]) -> Set:
    def do(peer: Any) -> None:
        peer.mangle = lambda data: change(data, peer.chance)

    return do


def _letter(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes((chance.choice(b"GXYZ \0\xff"),)) + data[place + 1 :]


def _dynpick_faults(mode: str) -> list[Fault]:
    old = ASKED if mode == "poll" else STREAMED

    def row(name: str, fault: Set, mend: Set, **how: Any) -> Fault:
        return _fault(
            f"DynPick, {mode}: {name}", lambda: dynpick(mode), fault, mend, count=DYNPICK_COUNT, old=old, **how
        )

    whole = _set(mangle=None)
    return [
        row("silent", _set(is_silent=True), _set(is_silent=False), must_not_be_fresh=True),
        row("half of the records lost", _set(lose=0.5), _set(lose=0.0)),
        row("a letter that is no digit", _mangled(_letter), whole),
        row("bytes missing", _mangled(lambda data, chance: data[: chance.randrange(27)]), whole),
        row("bytes too many", _mangled(lambda data, chance: data[:5] + b"7" + data[5:]), whole, must_not_be_fresh=True),
        row("noise", _mangled(lambda data, chance: chance.randbytes(27)), whole),
        row("at the end of its range", _mangled(lambda data, chance: data[:1] + b"3FFF" + data[5:]), whole,
            must_say="saturated"),
        row("cable out and in", lambda arrivals: setattr(arrivals, "is_pulled", True),
            lambda arrivals: setattr(arrivals, "is_pulled", False), must_not_be_fresh=True),
    ]  # fmt: skip


def _netft_faults() -> list[Fault]:
    count = np.array([1e-6, 1e-6, 1e-6, 1e-9, 1e-9, 1e-9])

    def row(name: str, fault: Set, mend: Set, **how: Any) -> Fault:
        return _fault(f"Net F/T: {name}", netft, fault, mend, count=count, old=STREAMED, **how)

    whole = _set(mangle=None)
    late: Set = _set(delay=lambda number: 0.0035 if number % 5 == 0 else 0.0)
    return [
        row("silent", _set(is_silent=True), _set(is_silent=False), must_not_be_fresh=True),
        row("half of the records lost", _set(lose=0.5), _set(lose=0.0)),
        row("records overtake each other", late, _set(delay=lambda number: 0.0)),
        row("records come twice", _set(twice=3), _set(twice=0)),
        row("records a byte short", _mangled(lambda data, chance: data[:-1]), whole, must_not_be_fresh=True),
        row("records a byte too long", _mangled(lambda data, chance: data + b"\0"), whole, must_not_be_fresh=True),
        row("its sensor has stopped", _set(frozen=True), _set(frozen=False), must_not_be_fresh=True),
        row("error", _set(status=SUMMARY | 0x00000100), _set(status=0), must_not_be_fresh=True),
        row("watchdog", _set(status=SUMMARY | WATCHDOG), _set(status=0), must_not_be_fresh=True),
        row("out of range", _set(status=SUMMARY | OUT_OF_RANGE), _set(status=0), must_say="saturated"),
        row("a monitored condition", _set(status=SUMMARY | CONDITION), _set(status=0)),
        row("cable out and in", lambda arrivals: setattr(arrivals, "is_pulled", True),
            lambda arrivals: setattr(arrivals, "is_pulled", False), must_not_be_fresh=True),
    ]  # fmt: skip


def faults() -> list[Fault]:
    """Every row."""
    return [*_dynpick_faults("poll"), *_dynpick_faults("continuous"), *_netft_faults()]
