# SPDX-License-Identifier: Apache-2.0
"""A KHR-1 of our own (two boards on a line) under the safe cycle, in lock step, and its faults."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ada_hardware.kondo.rcb1.driver import Rcb1Driver
from ada_hardware.kondo.rcb1.settings import Rcb1Settings
from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from peers.clock import Clock, LockStepLine
from peers.rcb1 import SLEEP, Rcb1Peer, checksum
from peers.servo_judge import ServoJudge
from peers.trial import EITHER, STOPS, Fault, Outcome

BLIND = 0.35  # [s] that servos may go on without being seen, the last way that they were told included


class KhrScene:
    """Opened and inactive.

    Attributes:
        clock, peer, judge, driver, cycle, line: the parts.
    """

    def __init__(self, safety: SafetySettings | None = None, prepared: Callable[[Rcb1Peer], object] = lambda p: None):
        """Args: rules; what the boards are like before anybody speaks."""
        self.clock = Clock()
        self.peer = Rcb1Peer()
        prepared(self.peer)
        self.line = LockStepLine(self.clock, self.peer.hear, 115_200)
        self.driver = Rcb1Driver(Rcb1Settings(url="lockstep:"), wire=self.line, clock=self.clock.now)
        self.judge = ServoJudge(self.driver.period)
        self.peer.witness = self.judge
        self.cycle = SafeCycle(self.driver, safety or SafetySettings(record_seconds=0.0), on_phase=self._phase)
        self.host_seen_at: float | None = None
        self.cycle.open(self.clock.now())
        self._due = self.clock.now()

    def _phase(self, phase: Phase) -> None:
        if phase in (Phase.STOPPING, Phase.STOPPED, Phase.INACTIVE):
            self.judge.asked_to_stop(self.clock.now())

    @property
    def now(self) -> float:
        return self.clock.now()

    @property
    def phase(self) -> Phase:
        return self.cycle.phase

    @property
    def angles(self) -> np.ndarray:
        """Of all 24 channels [deg]."""
        return np.concatenate([board.angle for board in self.peer.boards])

    def step(self, values: np.ndarray | None = None) -> None:
        """One cycle."""
        commands = [] if values is None else [Demand(Mode.POSITION, values, self.now)]
        self.cycle.step(self.now, commands, self.host_seen_at)
        self._due = max(self._due + self.driver.period, self.now)
        self.clock.wait_until(self._due)
        self.peer.advance(self.now)

    def run(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / self.driver.period))):
            self.step()

    def activate(self) -> None:
        """As a program does."""
        self.run(0.1)
        self.judge.activated(self.now)
        self.cycle.activate(self.now)
        self._due = self.now
        self.run(0.1)

    def recover(self) -> str:
        """As of the PA-10's scene."""
        self.run(1.0)
        self.host_seen_at = None
        try:
            if self.phase is Phase.STOPPED:
                self.cycle.reset(self.now)
            self._due = self.now
            self.run(0.7)
            self.activate()
        except HardwareError as problem:
            return f"{type(problem).__name__}: {problem}"
        return "" if self.phase is Phase.ACTIVE else f"it is {self.phase.value}: {self.cycle.reason}"


class Swing:
    """A program: arms and neck go to and fro."""

    def __init__(self, scene: KhrScene) -> None:
        self._scene = scene
        self._from, self._since = scene.cycle.feedback.position.copy(), scene.now
        room = np.array([min(l.upper - q, q - l.lower) for l, q in zip(scene.driver.limits, self._from, strict=True)])
        self._size = np.clip(room - 0.05, 0.0, 0.4)

    def __call__(self) -> None:
        t = self._scene.now - self._since
        self._scene.step(self._from + self._size * math.sin(2.5 * t) * min(1.0, t))


def _trial(
    fault: Callable[[KhrScene], object],
    mend: Callable[[KhrScene], object],
    *,
    expect: str,
    within: float,
    lasts: float,
    says_nothing: bool = False,
) -> Outcome:
    scene = KhrScene()
    scene.activate()
    swing = Swing(scene)
    for _ in range(15):
        swing()
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
    problem = scene.recover()
    unsafe += [f"no way back: {problem}"] if problem else []
    scene.cycle.close(scene.now)
    return Outcome(reaction, safe_after, unsafe + [f"{one.rule}: {one.text}" for one in scene.judge.unsafe[:3]])


def _row(
    name: str,
    fault: Callable[[KhrScene], object],
    mend: Callable[[KhrScene], object] = lambda scene: None,
    *,
    expect: str = STOPS,
    within: float = BLIND,
    lasts: float = 0.2,
    cheap: bool = False,
    says_nothing: bool = False,
) -> Fault:
    return Fault(
        name,
        lambda number: _trial(fault, mend, expect=expect, within=within, lasts=lasts, says_nothing=says_nothing),
        is_cheap=cheap,
    )


def _boards(which: tuple[int, ...], **values: object) -> Callable[[KhrScene], object]:
    def do(scene: KhrScene) -> None:
        for number in which:
            for name, value in values.items():
                setattr(scene.peer.boards[number], name, value)

    return do


def _line(**values: object) -> Callable[[KhrScene], object]:
    def do(scene: KhrScene) -> None:
        for name, value in values.items():
            setattr(scene.peer, name, value)

    return do


def _pulled(out: bool) -> Callable[[KhrScene], object]:
    return lambda scene: setattr(scene.line.arrivals, "is_pulled", out)


def _wrong_sum(data: bytes) -> bytes:
    return data[:-1] + bytes((data[-1] ^ 0x01,))


def _other_board(data: bytes) -> bytes:
    told = bytes((data[0] ^ 1,)) + data[1:-1]
    return told + bytes((checksum(told),)) if len(data) > 2 else bytes((data[0] ^ 1, data[1]))


def _held(channel: int, is_held: bool) -> Callable[[KhrScene], object]:
    def do(scene: KhrScene) -> None:
        scene.peer.boards[channel // 12].is_held[channel % 12] = is_held

    return do


def _stands_still(scene: KhrScene) -> None:
    for board in scene.peer.boards:
        at = board.angle.copy()
        board.says = lambda angle, at=at: at


def faults() -> list[Fault]:
    """Every row."""
    both = (0, 1)
    return [
        _row("KHR-1: upper board silent", _boards((0,), is_silent=True), _boards((0,), is_silent=False), cheap=True),
        _row("KHR-1: lower board switched off", _boards((1,), is_dead=True), _boards((1,), is_dead=False)),
        _row("KHR-1: both boards switched off", _boards(both, is_dead=True), _boards(both, is_dead=False), cheap=True),
        _row("KHR-1: cable out and in", _pulled(True), _pulled(False), cheap=True),
        _row("KHR-1: answers late by 60 ms", _line(answer_after=0.06), _line(answer_after=0.001)),
        _row("KHR-1: wrong check sums", _line(mangle=_wrong_sum), _line(mangle=None), cheap=True),
        _row("KHR-1: answers of the other board", _line(mangle=_other_board), _line(mangle=None)),
        _row("KHR-1: answers a byte short", _line(mangle=lambda data: data[:-1]), _line(mangle=None)),
        _row(
            "KHR-1: noise before each answer",
            _line(noise=b"\x55\xaa"),
            _line(noise=b""),
            expect=EITHER,
            lasts=0.6,
        ),
        _row("KHR-1: 20 % of answers lost", _line(lose=0.2), _line(lose=0.0), expect=EITHER, lasts=1.5),
        _row(
            "KHR-1: a servo is held, and freed", _held(2, True), _held(2, False), expect=EITHER, lasts=1.0, cheap=True
        ),
        _row(
            "KHR-1: program frozen",
            lambda scene: setattr(scene, "host_seen_at", scene.now),
            within=0.9,
            says_nothing=True,
            cheap=True,
        ),
        _row(
            "KHR-1: cycle frozen for 1 s",
            lambda scene: (scene.clock.wait(1.0), scene.peer.advance(scene.now)),
            expect=EITHER,
            cheap=True,
        ),
        _row("KHR-1: angles stand still", _stands_still, _boards(both, says=lambda a: a), expect=EITHER, lasts=1.0),
        Fault("KHR-1: a servo that the map leaves out stays where it is", _left_out, is_cheap=True),
        Fault("KHR-1: a servo 2 degrees beyond its limit is led back", _beyond, is_cheap=True),
        Fault("KHR-1: a board sleeps at activation", _asleep, is_cheap=True),
        Fault("KHR-1: stop in motion", _stop, is_cheap=True),
    ]


def _end(scene: KhrScene, reaction: str, unsafe: list[str]) -> Outcome:
    scene.cycle.close(scene.now)
    return Outcome(reaction, math.nan, unsafe + [f"{one.rule}: {one.text}" for one in scene.judge.unsafe[:3]])


def _left_out(number: int) -> Outcome:
    """A gripper on channel 4 stands at 20 degrees; the board has 90 stored."""

    def prepared(peer: Rcb1Peer) -> None:
        peer.boards[0].angle[3] = peer.boards[0].target[3] = 20.0

    scene = KhrScene(prepared=prepared)
    scene.activate()
    swing = Swing(scene)
    for _ in range(40):
        swing()
    at = float(scene.peer.boards[0].angle[3])
    return _end(scene, f"it is at {at:g} degrees", [] if abs(at - 20.0) <= 1.0 else [f"it went to {at:g} degrees"])


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
            scene.step(goal)
    except HardwareError as problem:
        return f"refused: {problem}"
    q, limit = scene.cycle.feedback.position[joint], scene.driver.limits[joint]
    return "" if limit.lower <= q <= limit.upper else f"not led back ({scene.phase.value}: {scene.cycle.reason})"


def _asleep(number: int) -> Outcome:
    scene = KhrScene(prepared=lambda peer: setattr(peer.boards[number % 2], "switches", SLEEP))
    try:
        scene.activate()
    except HardwareError as problem:
        return _end(scene, f"refused: {problem}", [])
    return _end(scene, f"{scene.phase.value}", ["activated with a board that sleeps"])


def _stop(number: int) -> Outcome:
    scene = KhrScene()
    scene.activate()
    swing = Swing(scene)
    for _ in range(20):
        swing()
    began = scene.now
    scene.cycle.stop(scene.now, "a test")
    for _ in range(40):
        swing()
    unsafe = [] if scene.peer.moved_at - began < 0.45 else [f"moves {scene.peer.moved_at - began:.3g} s after a stop"]
    if scene.phase is not Phase.STOPPED:
        unsafe.append(f"it is {scene.phase.value}")
    problem = scene.recover()
    unsafe += [f"no way back: {problem}"] if problem else []
    return _end(scene, f"at rest {1e3 * max(0.0, scene.peer.moved_at - began):.0f} ms later", unsafe)
