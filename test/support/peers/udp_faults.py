# SPDX-License-Identifier: Apache-2.0
"""Faults that need real processes: a second program at the same address, a cycle that is killed or frozen."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError, Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from peers.fault import Fault, Outcome
from peers.pa10 import Pa10Peer
from peers.pa10_witness import Pa10Witness, bounds
from peers.stream_judge import StreamJudge
from peers.udp import UdpPeer

WATCHDOG = 0.4  # [s] of a 7C: a machine that is busy for some milliseconds is no part of these trials
PATIENCE = 20.0  # [s]
TRIES = 5  # to activate an arm on a machine that is busy
SAFETY = SafetySettings(tool_speed=0.0, record_seconds=0.0, realtime_priority=0)


def _until(holds: Callable[[], bool], most: float = PATIENCE) -> bool:
    end = time.monotonic() + most
    while not holds() and time.monotonic() < end:
        SYSTEM_CLOCK.sleep(0.002)
    return holds()


def _robot(url: str) -> Robot:
    return Robot("pa10", Pa10Settings(url=url, variant="7c", device_timeout=WATCHDOG), SAFETY)


@contextmanager
def _moving() -> Iterator[tuple[UdpPeer, Robot, StreamJudge]]:
    """An arm that moves, and the program that moves it."""
    judge = StreamJudge(bounds())
    with UdpPeer(Pa10Peer("7c", watchdog=WATCHDOG, witness=Pa10Witness(judge))) as served:
        robot = _robot(served.url)
        robot.open()
        try:
            _until(lambda: robot.feedback.is_fresh)
            judge.activated(time.monotonic())
            _activate(robot)
            _drive(robot, 0.3)
            yield served, robot, judge
        finally:
            judge.faulted(time.monotonic())
            with served.lock:
                judge.strangers.clear()
            with suppress(HardwareError):
                robot.close()


def _activate(robot: Robot) -> None:
    """Where a busy machine stood still after the arm was opened, it has stopped, and is reset first."""
    for _ in range(TRIES):
        try:
            robot.activate()
            return
        except Refused:
            robot.reset()
    robot.activate()


def _drive(robot: Robot, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            robot.command(Mode.VELOCITY, np.full(7, 0.15))
        except HardwareError:
            return
        SYSTEM_CLOCK.sleep(0.005)


def _second_program(number: int) -> Outcome:
    """Another robot at the same address, while the first one moves: it is refused, and says nothing."""
    unsafe = []
    with _moving() as (served, robot, judge):
        second = _robot(served.url)
        try:
            second.open()
        except HardwareError as problem:
            reaction = f"the second is refused: {type(problem).__name__}"
        else:
            reaction = "the second one is let in"
            unsafe.append("a second program opens the arm that moves")
            second.close()
        _drive(robot, 0.1)
        if len(judge.senders) > 1:
            unsafe.append(f"{len(judge.senders)} senders are on the wire")
    return Outcome(reaction, math.nan, unsafe)


def _cycle(sent: signal.Signals) -> Callable[[int], Outcome]:
    def run(number: int) -> Outcome:
        unsafe = []
        with _moving() as (served, robot, judge):
            pid, began = robot.cycle_pid, time.monotonic()
            os.kill(pid, sent)
            if not _until(lambda: served.peer.is_safe, WATCHDOG + 0.3):
                unsafe.append("the arm's brakes are open")
            safe_after = time.monotonic() - began
            if sent is signal.SIGSTOP:
                os.kill(pid, signal.SIGCONT)
            _drive(robot, 0.3)
            if not served.peer.is_safe:
                unsafe.append("it moves again by itself")
            reaction = f"the device's own brakes; then {robot.phase.value}"
            try:
                if sent is signal.SIGKILL:
                    _until(lambda: robot.phase is Phase.CLOSED)  # a busy machine reports the death later
                    robot.open()
                _until(lambda: not robot.phase.is_driven)
                if robot.phase is Phase.STOPPED:
                    robot.reset()
                _until(lambda: robot.feedback.is_fresh)
                judge.activated(time.monotonic())
                robot.activate()
            except HardwareError as problem:
                unsafe.append(f"no way back: {problem}")
            unsafe += [f"{one.rule}: {one.text}" for one in judge.unsafe if one.rule in ("position", "speed", "sender")]
        return Outcome(reaction, safe_after, unsafe)

    return run


def faults() -> list[Fault]:
    return [
        Fault("a second program opens the arm's address", _second_program, is_cheap=True),
        Fault("the cycle's process is killed", _cycle(signal.SIGKILL)),
        Fault("the cycle's process is frozen, and goes on", _cycle(signal.SIGSTOP)),
    ]
