# SPDX-License-Identifier: Apache-2.0
"""Every fault that a PA-10, its wire, its program and its cycle have been thought to have."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from peers.fault import EITHER, STOPS, Do, Fault, Outcome, cable_out, held, nothing, program_frozen
from peers.pa10 import TROUBLES, Pa10Peer
from peers.pa10_scene import Pa10Scene, trial

V, P, E = Mode.VELOCITY, Mode.POSITION, Mode.EFFORT
ALL = (V, P, E)
SHORT = {V: "velocity", P: "position", E: "torque"}
RAMP = 0.1  # [s] from full speed to rest, at the longest


def rows(
    name: str,
    modes: Sequence[Mode],
    fault: Do,
    mend: Do = nothing,
    *,
    layout: str = "ce",
    cheap: Sequence[Mode] = (),
    prepared: Do = nothing,
    safety: SafetySettings | None = None,
    scene: dict[str, object] | None = None,
    **how: object,
) -> list[Fault]:
    """A fault in each mode, in those of `cheap` for the ordinary tests too; how: of `trial`."""

    def run(mode: Mode, number: int) -> Outcome:
        made = Pa10Scene(layout, safety=safety, **(scene or {}))  # type: ignore[arg-type]
        made.peer.chance = random.Random(number)
        prepared(made)
        how_to = dict(how)
        if number % 2 and mode is not E:
            how_to["speed"] = -float(how_to.get("speed", 0.3))  # type: ignore[arg-type]
        return trial(made, mode, fault, mend=mend, **how_to)  # type: ignore[arg-type]

    return [
        Fault(f"{name}, {SHORT[mode]} {layout}", lambda number, mode=mode: run(mode, number), mode in cheap)
        for mode in modes
    ]


def on_peer(what: Callable[[Pa10Peer], object]) -> Do:
    return lambda scene: what(scene.peer)


def timing() -> list[Fault]:
    """Late cycles, frozen and dead programs and cycles."""
    found = []
    for late in (0.001, 0.005, 0.008, 0.012, 0.050):
        expect, cheap = STOPS if late > 0.010 else EITHER, ALL if late in (0.008, 0.012) else ()
        name = f"cycle late by {1e3 * late:g} ms"
        found += rows(name, ALL, _frozen(late), expect=expect, within=late + 0.05, cheap=cheap)
    for late in (0.012, 0.050, 0.250):
        expect, cheap = (STOPS, ALL) if late == 0.250 else (EITHER, ())
        name, within = f"cycle late by {1e3 * late:g} ms of a device that waits 400 ms", late + RAMP + 0.2
        found += rows(name, ALL, _frozen(late), layout="7c", expect=expect, within=within, cheap=cheap)
    found += rows("cycle killed, or frozen for 1 s", ALL, _frozen(1.0), within=1.05, cheap=(V,))
    silent = {"says_nothing": True, "within": 0.1 + RAMP + 0.45, "lasts": 0.7}
    found += rows("program frozen", ALL, program_frozen, **silent, cheap=(V, E))
    found += rows("program alive, sends nothing", ALL, nothing, **silent)
    for late in (0.001, 0.005, 0.010, 0.050, 0.400):
        found += rows(f"commands late by {1e3 * late:g} ms", (V,), lambda scene, s=late: scene.run(s), expect=EITHER)
    return found + rows("commands of 0.4 s ago", (V,), _old_commands, expect=EITHER, lasts=0.0, cheap=(V,))


def _frozen(seconds: float) -> Do:
    return lambda scene: scene.freeze(seconds)


def _old_commands(scene: Pa10Scene) -> None:
    scene.run(0.3)
    before = scene.peer.body.q.copy()
    for _ in range(20):
        scene.cycle.step(scene.now, [Demand(V, np.full(7, -0.3), scene.now - 0.4)])
        scene.clock.advance(scene.period)
    if np.abs(scene.peer.body.q - before).max() > 1e-3:
        scene.judge.broke(scene.now, "phase", "a command of 0.4 s ago moved it")


def silence() -> list[Fault]:
    """Devices that say nothing, say it late, or are gone."""
    gone = 0.022 + 0.06  # max_missed exchanges, and the way to rest
    off, on = on_peer(lambda peer: peer.power(on=False)), on_peer(lambda peer: peer.power(on=True))
    found = [
        *rows("device silent for 10 ms", ALL, *held(is_silent=True), lasts=0.010, expect=EITHER),
        *rows("device silent", ALL, *held(is_silent=True), within=gone, cheap=(V, E)),
        *rows("device switched off", ALL, off, on, within=gone, cheap=(V,)),
        *rows("device off and on at once", ALL, lambda scene: (off(scene), on(scene)), within=gone, cheap=(E,)),
        *rows("fibre cut", ALL, *held(is_deaf=True), within=gone),
        *rows("cable out and in", ALL, *cable_out, within=gone, cheap=(V,)),
    ]
    for late in (0.001, 0.003, 0.008):
        expect, cheap = EITHER if late < 0.0015 else STOPS, (V,) if late == 0.003 else ()
        name, slow = f"answers late by {1e3 * late:g} ms", held(answer_after=late)
        found += rows(name, (V,), *slow, expect=expect, within=gone, cheap=cheap)
    for share in (0.01, 0.10, 0.50):
        name, lost = f"{100 * share:g} % of packets lost", held(lose=share, lose_commands=share)
        found += rows(name, (V, E), *lost, expect=EITHER, lasts=1.0, cheap=(V, E) if share == 0.50 else ())
    return found


def damage() -> list[Fault]:
    kinds: dict[str, tuple[Callable[[bytes, random.Random], bytes], str]] = {
        "a bit wrong in the head": (lambda data, chance: _flip(data, chance.randrange(48)), EITHER),
        "a byte short": (lambda data, chance: data[:-1], STOPS),
        "a byte too long": (lambda data, chance: data + b"\0", STOPS),
        "of another type": (lambda data, chance: data[:5] + b"S" + data[6:], STOPS),
        "noise": (lambda data, chance: chance.randbytes(len(data)), STOPS),
        "bits wrong in every payload": (
            lambda data, chance: _flip(data, 48 + chance.randrange(8 * len(data) - 48)),
            EITHER,
        ),
    }
    found = []
    for name, (change, expect) in kinds.items():
        cheap = (V,) if name in ("noise", "a byte short") else ()
        found += rows(f"answers: {name}", (V,), *held(mangle=change), expect=expect, lasts=0.3, within=0.1, cheap=cheap)
    found += rows("wrong sequence numbers", (V,), *held(shift=1), within=0.1, cheap=(V,))
    return found + rows("wrong sequence numbers", (E,), *held(shift=5), within=0.1)


def _flip(data: bytes, bit: int) -> bytes:
    return data[: bit // 8] + bytes((data[bit // 8] ^ 1 << bit % 8,)) + data[bit // 8 + 1 :]


def lies() -> list[Fault]:

    def stuck(scene: Pa10Scene) -> None:
        at = scene.peer.body.q.copy()
        scene.peer.says_position = lambda now, q: at

    def jump(scene: Pa10Scene) -> None:
        scene.peer.says_position = lambda now, q: q + np.array([0, 0.5, 0, 0, 0, 0, 0])

    def drift(scene: Pa10Scene) -> None:
        since = scene.now
        scene.peer.says_position = lambda now, q: q + 0.5 * (now - since) * np.eye(7)[3]

    def truth(scene: Pa10Scene) -> None:
        scene.peer.says_position = lambda now, q: q

    return [
        *rows("positions stand still", (V, P), stuck, truth, within=1.0, speed=0.5),
        *rows("a position jumps by 0.5 rad", (V, P), jump, truth, within=0.3, cheap=(P,)),
        *rows("a position drifts by 0.5 rad/s", (V, P), drift, truth, lasts=1.0, expect=EITHER),
    ]


def words_and_alarms() -> list[Fault]:
    found = []
    well = on_peer(lambda peer: peer.trouble())
    for name in TROUBLES:
        ill = on_peer(lambda peer, name=name: peer.trouble(name))
        for has_alarm in (True, False) if name in ("emergency stop", "limit switch") else (False,):
            text, (prepared, _) = f"{name}{'' if has_alarm else ', the word alone'}", held(has_alarms=has_alarm)
            found += rows(text, ALL, ill, well, within=0.05, prepared=prepared, cheap=(V,))
    let_go = on_peer(lambda peer: peer.let_go_of_dead_man())
    pressed = on_peer(lambda peer: peer.let_go_of_dead_man(gone=False))
    found += rows("dead-man switch let go", (V,), let_go, pressed, within=0.05, cheap=(V,))
    alarms = [(P, 0, 0x060), (V, 3, 0x0E0), (P, 6, 0x090), (P, 2, 0x0F0), (P, 4, 0x100), (V, 1, 0x0B0), (E, 1, 0x060)]
    for mode, axis, code in alarms:
        raised = on_peer(lambda peer, axis=axis, code=code: peer.raise_alarm(axis, code))
        cheap = (mode,) if code == 0x060 else ()
        found += rows(f"alarm {code:03X} of axis {axis + 1}", (mode,), raised, within=0.05, cheap=cheap)
    return [*found, Fault("a servo that never comes on", _never_on, is_cheap=True)]


def _never_on(number: int) -> Outcome:
    scene = Pa10Scene()
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
    return scene.end(reaction, unsafe)


def device_faults() -> list[Fault]:
    return [*timing(), *silence(), *damage(), *lies(), *words_and_alarms()]
