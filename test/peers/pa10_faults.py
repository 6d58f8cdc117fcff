# SPDX-License-Identifier: Apache-2.0
"""Every fault that a PA-10, its wire, its program and its cycle have been thought to have."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from peers.pa10 import Pa10Peer
from peers.pa10_scene import Scene
from peers.trial import EITHER, STOPS, Fault, Outcome, trial

V, P, E = Mode.VELOCITY, Mode.POSITION, Mode.EFFORT
SHORT = {V: "velocity", P: "position", E: "torque"}
RAMP = 0.1  # [s] from full speed to rest, at the longest
Do = Callable[[Scene], object]


def row(
    name: str,
    mode: Mode,
    fault: Do,
    *,
    layout: str = "ce",
    cheap: bool = False,
    prepared: Do = lambda scene: None,
    safety: SafetySettings | None = None,
    scene: dict[str, object] | None = None,
    **how: object,
) -> Fault:
    def run(number: int) -> Outcome:
        made = Scene(layout, safety=safety, **(scene or {}))  # type: ignore[arg-type]
        made.peer.chance = random.Random(number)
        prepared(made)
        how_to = dict(how)
        if number % 2 and mode is not E:
            how_to["speed"] = -float(how_to.get("speed", 0.3))  # type: ignore[arg-type]
        return trial(made, mode, fault, **how_to)  # type: ignore[arg-type]

    return Fault(f"{name}, {SHORT[mode]} {layout}", run, cheap)


def set_on(**values: object) -> Do:
    """Set switches of the peer."""

    def do(scene: Scene) -> None:
        for name, value in values.items():
            setattr(scene.peer, name, value)

    return do


def on_peer(what: Callable[[Pa10Peer], object]) -> Do:
    """Do something to the peer."""
    return lambda scene: what(scene.peer)


# --- cycle and program ------------------------------------------------------------------------------------------------
def timing() -> list[Fault]:
    """Late cycles, frozen and dead programs and cycles."""
    rows = []
    for late in (0.001, 0.005, 0.008, 0.012, 0.050):
        for mode in (V, P, E):
            expect = STOPS if late > 0.010 else EITHER
            rows.append(
                row(
                    f"cycle late by {1e3 * late:g} ms",
                    mode,
                    _frozen(late),
                    expect=expect,
                    within=late + 0.05,
                    cheap=late in (0.008, 0.012),
                )
            )
    for late in (0.012, 0.050, 0.250):
        for mode in (V, P, E):
            expect = STOPS if late >= 0.250 else EITHER
            rows.append(
                row(
                    f"cycle late by {1e3 * late:g} ms of a device that waits 400 ms",
                    mode,
                    _frozen(late),
                    layout="7c",
                    expect=expect,
                    within=late + RAMP + 0.2,
                    cheap=late == 0.250,
                )
            )
    for mode in (V, P, E):
        rows.append(row("cycle killed, or frozen for 1 s", mode, _frozen(1.0), within=1.05, cheap=mode is V))
        rows.append(
            row(
                "program frozen",
                mode,
                _program_frozen,
                says_nothing=True,
                within=0.1 + RAMP + 0.45,
                lasts=0.7,
                cheap=mode is not P,
            )
        )
        rows.append(
            row(
                "program alive, sends nothing",
                mode,
                lambda scene: None,
                says_nothing=True,
                lasts=0.7,
                within=0.1 + RAMP + 0.45,
            )
        )
    for late in (0.001, 0.005, 0.010, 0.050, 0.400):
        rows.append(row(f"commands late by {1e3 * late:g} ms", V, lambda scene, s=late: scene.run(s), expect=EITHER))
    rows.append(row("commands of 0.4 s ago", V, _old_commands, expect=EITHER, lasts=0.0, cheap=True))
    return rows


def _frozen(seconds: float) -> Do:
    return lambda scene: scene.freeze(seconds)


def _program_frozen(scene: Scene) -> None:
    scene.host_seen_at = scene.now


def _old_commands(scene: Scene) -> None:
    """They say to go back; the robot must not."""
    scene.run(0.3)
    before = scene.peer.body.q.copy()
    for _ in range(20):
        scene.cycle.step(scene.now, [Demand(V, np.full(7, -0.3), scene.now - 0.4)])
        scene.clock.wait(scene.period)
    if np.abs(scene.peer.body.q - before).max() > 1e-3:
        scene.judge.broke(scene.now, "phase", "a command of 0.4 s ago moved it")


# --- device and wire --------------------------------------------------------------------------------------------------
def silence() -> list[Fault]:
    """Devices that say nothing, say it late, or are gone."""
    gone = 0.022 + 0.06  # max_missed exchanges, and the way to rest
    rows = []
    for mode in (V, P, E):
        rows += [
            row(
                "device silent for 10 ms",
                mode,
                set_on(is_silent=True),
                lasts=0.010,
                expect=EITHER,
                mend=set_on(is_silent=False),
            ),
            row(
                "device silent",
                mode,
                set_on(is_silent=True),
                within=gone,
                mend=set_on(is_silent=False),
                cheap=mode is not P,
            ),
            row(
                "device switched off",
                mode,
                on_peer(lambda p: p.power(on=False)),
                within=gone,
                mend=on_peer(lambda p: p.power(on=True)),
                cheap=mode is V,
            ),
            row(
                "device off and on at once",
                mode,
                on_peer(lambda p: (p.power(on=False), p.power(on=True))),
                within=gone,
                cheap=mode is E,
            ),
            row("fibre cut", mode, set_on(is_deaf=True), within=gone, mend=set_on(is_deaf=False)),
            row("cable out and in", mode, _pull, within=gone, mend=_plug, cheap=mode is V),
        ]
    for late in (0.001, 0.003, 0.008):
        rows.append(
            row(
                f"answers late by {1e3 * late:g} ms",
                V,
                set_on(answer_after=late),
                expect=EITHER if late < 0.0015 else STOPS,
                within=gone,
                mend=set_on(answer_after=2e-4),
                cheap=late == 0.003,
            )
        )
    for share in (0.01, 0.10, 0.50):
        for mode in (V, E):
            rows.append(
                row(
                    f"{100 * share:g} % of packets lost",
                    mode,
                    set_on(lose_answers=share, lose_commands=share),
                    expect=EITHER,
                    lasts=1.0,
                    mend=set_on(lose_answers=0.0, lose_commands=0.0),
                    cheap=share == 0.50,
                )
            )
    return rows


def _pull(scene: Scene) -> None:
    scene.wire.arrivals.is_pulled = True


def _plug(scene: Scene) -> None:
    scene.wire.arrivals.is_pulled = False


def damage() -> list[Fault]:
    """Answers that are no answers."""
    kinds: dict[str, Callable[[random.Random], Callable[[bytes], bytes | None]]] = {
        "a bit wrong in the head": lambda chance: lambda data: _flip(data, chance.randrange(48)),
        "a byte short": lambda chance: lambda data: data[:-1],
        "a byte too long": lambda chance: lambda data: data + b"\0",
        "of another type": lambda chance: lambda data: data[:5] + b"S" + data[6:],
        "noise": lambda chance: lambda data: chance.randbytes(len(data)),
        "bits wrong in every payload": lambda chance: (
            lambda data: _flip(data, 48 + chance.randrange(8 * len(data) - 48))
        ),
    }
    rows = []
    for name, made in kinds.items():
        expect = EITHER if "payload" in name or "head" in name else STOPS
        rows.append(
            row(
                f"answers: {name}",
                V,
                lambda scene, m=made: setattr(scene.peer, "mangle", m(scene.peer.chance)),
                expect=expect,
                lasts=0.3,
                within=0.1,
                mend=set_on(mangle=None),
                cheap=name in ("noise", "a byte short"),
            )
        )
    rows.append(row("wrong sequence numbers", V, set_on(shift=1), within=0.1, mend=set_on(shift=0), cheap=True))
    rows.append(row("wrong sequence numbers", E, set_on(shift=5), within=0.1, mend=set_on(shift=0)))
    return rows


def _flip(data: bytes, bit: int) -> bytes:
    return data[: bit // 8] + bytes((data[bit // 8] ^ 1 << bit % 8,)) + data[bit // 8 + 1 :]


def lies() -> list[Fault]:
    """Positions within range that are not true."""

    def stuck(scene: Scene) -> None:
        at = scene.peer.body.q.copy()
        scene.peer.says_position = lambda now, q: at

    def jump(scene: Scene) -> None:
        scene.peer.says_position = lambda now, q: q + np.array([0, 0.5, 0, 0, 0, 0, 0])

    def drift(scene: Scene) -> None:
        since = scene.now
        scene.peer.says_position = lambda now, q: q + 0.5 * (now - since) * np.eye(7)[3]

    truth: Do = set_on(says_position=lambda now, q: q)
    rows = []
    for mode in (V, P):
        rows += [
            row("positions stand still", mode, stuck, within=1.0, mend=truth, speed=0.5),
            row("a position jumps by 0.5 rad", mode, jump, within=0.3, mend=truth, cheap=mode is P),
            row("a position drifts by 0.5 rad/s", mode, drift, lasts=1.0, mend=truth, expect=EITHER),
        ]
    return rows


# --- what the device says ---------------------------------------------------------------------------------------------
def words_and_alarms() -> list[Fault]:
    """Switches, alarms, servos that do not follow."""
    rows = []
    for name in ("emergency stop", "limit switch", "teaching", "not controllable", "power off", "no motor voltage"):
        for has_alarm in (True, False) if name in ("emergency stop", "limit switch") else (False,):
            for mode in (V, P, E):
                text = f"{name}{'' if has_alarm else ', the word alone'}"
                rows.append(
                    row(
                        text,
                        mode,
                        on_peer(lambda p, n=name: p.trouble(n)),
                        within=0.05,
                        prepared=set_on(has_alarms=has_alarm),
                        mend=on_peer(lambda p: p.trouble()),
                        cheap=mode is V,
                    )
                )
    rows.append(
        row(
            "dead-man switch let go",
            V,
            on_peer(lambda p: p.let_go_of_dead_man()),
            within=0.05,
            mend=on_peer(lambda p: p.let_go_of_dead_man(gone=False)),
            cheap=True,
        )
    )
    for axis, code in ((0, 0x060), (3, 0x0E0), (6, 0x090), (2, 0x0F0), (4, 0x100), (1, 0x0B0)):
        rows.append(
            row(
                f"alarm {code:03X} of axis {axis + 1}",
                V if axis % 2 else P,
                on_peer(lambda p, a=axis, c=code: p.raise_alarm(a, c)),
                within=0.05,
                cheap=axis == 0,
            )
        )
    rows.append(row("alarm 060 of axis 2", E, on_peer(lambda p: p.raise_alarm(1, 0x060)), within=0.05, cheap=True))
    rows.append(Fault("a servo that never comes on", _never_on, is_cheap=True))
    return rows


def _never_on(number: int) -> Outcome:
    scene = Scene()
    scene.peer.never_drives[number % 7] = True
    unsafe = []
    try:
        scene.activate()
        scene.run(1.0, V, np.full(7, 0.5))
    except HardwareError as problem:
        reaction = f"refused: {problem}"
    else:
        reaction = f"{scene.phase.value}: {scene.cycle.reason}"
        if scene.phase is Phase.ACTIVE:
            unsafe.append("goes on with an axis whose servo is off")
    return end(scene, reaction, unsafe)


def end(scene: Scene, reaction: str, unsafe: list[str], safe_after: float = float("nan")) -> Outcome:
    scene.cycle.close(scene.now)
    return Outcome(reaction, safe_after, unsafe + [f"{one.rule}: {one.text}" for one in scene.judge.unsafe[:3]])


def device_faults() -> list[Fault]:
    """Every row."""
    return [*timing(), *silence(), *damage(), *lies(), *words_and_alarms()]
