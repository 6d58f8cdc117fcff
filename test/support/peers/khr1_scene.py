# SPDX-License-Identifier: Apache-2.0
"""A KHR-1 of our own (two boards on a line) under the safe cycle, in lock step, and its faults."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from ada_hardware.kondo.rcb1.driver import Rcb1Driver, Rcb1Settings
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from peers.clock import LockStepWire
from peers.fault import EITHER, STOPS, Do, Fault, Outcome, cable_out, held, nothing, program_frozen
from peers.judge import ServoJudge
from peers.rcb1 import SLEEP, Rcb1Peer, checksum
from peers.scene import Scene

BLIND = 0.35  # [s] that servos may go on without being seen, the last way of their last command included


class KhrScene(Scene):
    """Opened and inactive."""

    def __init__(self, prepared: Callable[[Rcb1Peer], object] = nothing, **settings: Any) -> None:
        """Prepare the boards before anybody speaks, and open a driver with these settings."""
        super().__init__()
        self.peer, self.settles = Rcb1Peer(), 0.7
        prepared(self.peer)
        self.wire = LockStepWire(self.clock, self.peer.hear, 115_200)
        self.driver = Rcb1Driver(Rcb1Settings(**{"url": "lockstep:", **settings}), wire=self.wire, clock=self.clock.now)
        self.period = self.driver.period
        self.peer.witness = self.judge = ServoJudge(self.period)
        self.cycle = SafeCycle(
            self.driver, SafetySettings(record_seconds=0.0), on_phase=self.on_phase, clock=self.clock
        )
        self.begin()

    @property
    def angles(self) -> np.ndarray:
        return np.concatenate([board.angle for board in self.peer.boards])

    def rest(self, seconds: float = 1.0) -> None:
        self.run(seconds)


class Swing:
    """A program: arms and neck go to and fro; so many cycles of it at once."""

    def __init__(self, scene: KhrScene, cycles: int) -> None:
        self._scene = scene
        self._from, self._since = scene.cycle.feedback.position.copy(), scene.now
        room = np.array([min(l.upper - q, q - l.lower) for l, q in zip(scene.driver.limits, self._from, strict=True)])
        self._size = np.clip(room - 0.05, 0.0, 0.4)
        for _ in range(cycles):
            self()

    def __call__(self) -> None:
        t = self._scene.now - self._since
        self._scene.step(Mode.POSITION, self._from + self._size * math.sin(2.5 * t) * min(1.0, t))


def _trial(fault: Do, mend: Do, *, expect: str, within: float, lasts: float, says_nothing: bool) -> Outcome:
    scene = KhrScene()
    scene.activate()
    swing = Swing(scene, 15)
    began = scene.now
    fault(scene)
    go_on: Callable[[], None] = scene.step if says_nothing else swing
    while scene.now < began + max(lasts, within + 0.5 if expect == STOPS else 0.0):
        go_on()
    safe_after = max(0.0, scene.peer.moved_at - began) if expect == STOPS else math.nan
    unsafe = []
    if expect == STOPS and (scene.phase is Phase.ACTIVE or safe_after > within):
        unsafe.append(f"not at rest within {within:g} s: {scene.phase.value}: {scene.cycle.reason}")
    reaction = f"{scene.phase.value}: {scene.cycle.reason}" if scene.phase is not Phase.ACTIVE else "goes on"
    was_resting = scene.phase is not Phase.ACTIVE
    mend(scene)
    until = scene.now + 0.3
    at = scene.angles
    while scene.now < until:
        go_on()
    if was_resting and (scene.phase is Phase.ACTIVE or np.abs(scene.angles - at).max() > 2.0):
        unsafe.append("it begins again by itself")
    return scene.end(reaction, unsafe + scene.brought_back(), safe_after)


def _row(
    name: str,
    fault: Do,
    mend: Do = nothing,
    *,
    expect: str = STOPS,
    within: float = BLIND,
    lasts: float = 0.2,
    cheap: bool = False,
    says_nothing: bool = False,
) -> Fault:
    how = {"expect": expect, "within": within, "lasts": lasts, "says_nothing": says_nothing}
    return Fault(f"KHR-1: {name}", lambda number: _trial(fault, mend, **how), cheap)  # type: ignore[arg-type]


def _boards(*which: int, **values: object) -> tuple[Do, Do]:
    return held(lambda scene: [scene.peer.boards[number] for number in which], **values)


def _wrong_sum(data: bytes, chance: random.Random) -> bytes:
    return data[:-1] + bytes((data[-1] ^ 0x01,))


def _other_board(data: bytes, chance: random.Random) -> bytes:
    answer = bytes((data[0] ^ 1,)) + data[1:-1]
    return answer + bytes((checksum(answer),)) if len(data) > 2 else bytes((data[0] ^ 1, data[1]))


def _held(channel: int, is_held: bool) -> Callable[[KhrScene], object]:
    def do(scene: KhrScene) -> None:
        scene.peer.boards[channel // 12].is_held[channel % 12] = is_held

    return do


def _stands_still(scene: KhrScene) -> None:
    for board in scene.peer.boards:
        at = board.angle.copy()
        board.says = lambda angle, at=at: at


def faults() -> list[Fault]:
    held_servo, freed_servo = _held(2, True), _held(2, False)
    truth = held(lambda scene: scene.peer.boards, says=lambda angle: angle)[0]
    return [
        _row("upper board silent", *_boards(0, is_silent=True), cheap=True),
        _row("lower board switched off", *_boards(1, is_dead=True)),
        _row("both boards switched off", *_boards(0, 1, is_dead=True), cheap=True),
        _row("cable out and in", *cable_out, cheap=True),
        _row("answers late by 60 ms", *held(answer_after=0.06)),
        _row("wrong check sums", *held(mangle=_wrong_sum), cheap=True),
        _row("answers of the other board", *held(mangle=_other_board)),
        _row("answers a byte short", *held(mangle=lambda data, chance: data[:-1])),
        _row("noise before each answer", *held(noise=b"\x55\xaa"), expect=EITHER, lasts=0.6),
        _row("20 % of answers lost", *held(lose=0.2), expect=EITHER, lasts=1.5),
        _row("a servo is held, and freed", held_servo, freed_servo, expect=EITHER, lasts=1.0, cheap=True),
        _row("program frozen", program_frozen, within=0.9, says_nothing=True, cheap=True),
        _row("cycle frozen for 1 s", lambda scene: scene.freeze(1.0), expect=EITHER, cheap=True),
        _row("angles stand still", _stands_still, truth, expect=EITHER, lasts=1.0),
        Fault("KHR-1: a servo that the map leaves out stays where it is", _left_out, is_cheap=True),
        Fault("KHR-1: a servo 2 degrees beyond its limit is led back", _beyond, is_cheap=True),
        Fault("KHR-1: a board sleeps at activation", _asleep, is_cheap=True),
        Fault("KHR-1: stop in motion", _stop, is_cheap=True),
    ]


def _left_out(number: int) -> Outcome:
    """A gripper on channel 4 stands at 20 degrees; the board has 90 stored."""

    def prepared(peer: Rcb1Peer) -> None:
        peer.boards[0].angle[3] = peer.boards[0].target[3] = 20.0

    scene = KhrScene(prepared=prepared)
    scene.activate()
    Swing(scene, 40)
    at = float(scene.peer.boards[0].angle[3])
    return scene.end(f"it is at {at:g} degrees", [] if abs(at - 20.0) <= 1.0 else [f"it went to {at:g} degrees"])


def _beyond(number: int) -> Outcome:
    """Every servo in turn: led two degrees beyond what the map allows, where the servo itself can be there."""
    probe, unsafe, tried = KhrScene(), [], 0
    start = probe.cycle.feedback.position
    for joint, (channel, sign) in _wiring(probe).items():
        limit = probe.driver.limits[joint]
        for side in (1.0, -1.0):
            way = math.degrees((limit.upper if side > 0 else limit.lower) - start[joint])
            at = probe.angles[channel] + sign * (way + side * 2.0)
            if 0.0 <= at <= 180.0:
                tried += 1
                problem = _led_back(channel, round(at), joint, side)
                unsafe += [f"{limit.name}: {problem}"] if problem else []
    return Outcome(f"{tried} ends tried", math.nan, unsafe)


def _wiring(scene: KhrScene) -> dict[int, tuple[int, float]]:
    """By joint: its channel, and which way it goes with it; found by moving one servo after another a little."""
    found = {}
    before = scene.cycle.feedback.position
    for channel in range(24):
        board, place = scene.peer.boards[channel // 12], channel % 12
        way = -2.0 if board.angle[place] > 90.0 else 2.0
        board.says = lambda angle, p=place, w=way: angle + w * (np.arange(12) == p)
        scene.run(0.3)
        moved = scene.cycle.feedback.position - before
        board.says = lambda angle: angle
        scene.run(0.3)
        if np.abs(moved).max() > 0.01:
            joint = int(np.argmax(np.abs(moved)))
            found[joint] = (channel, float(np.sign(moved[joint] * way)))
    return found


def _led_back(channel: int, at: float, joint: int, side: float) -> str:
    def prepared(peer: Rcb1Peer) -> None:
        board = peer.boards[channel // 12]
        board.angle[channel % 12] = board.target[channel % 12] = at

    scene = KhrScene(prepared=prepared)
    try:
        scene.activate()
        for _ in range(40):
            goal = scene.cycle.feedback.position.copy()
            goal = np.clip(goal, [l.lower for l in scene.driver.limits], [l.upper for l in scene.driver.limits])
            goal[joint] -= side * 0.03
            scene.step(Mode.POSITION, goal)
    except HardwareError as problem:
        return f"refused: {problem}"
    q, limit = scene.cycle.feedback.position[joint], scene.driver.limits[joint]
    return "" if limit.lower <= q <= limit.upper else f"not led back ({scene.phase.value}: {scene.cycle.reason})"


def _asleep(number: int) -> Outcome:
    scene = KhrScene(prepared=lambda peer: setattr(peer.boards[number % 2], "switches", SLEEP))
    try:
        scene.activate()
    except HardwareError as problem:
        return scene.end(f"refused: {problem}", [])
    return scene.end(f"{scene.phase.value}", ["activated with a board that sleeps"])


def _stop(number: int) -> Outcome:
    scene = KhrScene()
    scene.activate()
    swing = Swing(scene, 20)
    began = scene.now
    scene.cycle.stop(scene.now, "a test")
    for _ in range(40):
        swing()
    unsafe = [] if scene.peer.moved_at - began < 0.45 else [f"moves {scene.peer.moved_at - began:.3g} s after a stop"]
    if scene.phase is not Phase.STOPPED:
        unsafe.append(f"it is {scene.phase.value}")
    unsafe += scene.brought_back()
    return scene.end(f"at rest {1e3 * max(0.0, scene.peer.moved_at - began):.0f} ms later", unsafe)
