# SPDX-License-Identifier: Apache-2.0
"""The judge of the stream and the peers' own rules: each rule is broken once on purpose, and is seen to be."""

import numpy as np
import pytest
from peers import pa10_words as words
from peers.judge import ServoJudge
from peers.pa10 import AT, Pa10Peer
from peers.pa10_body import LIMITS, TORQUES, gravity
from peers.pa10_witness import Pa10Witness, bounds
from peers.rcb1 import Rcb1Peer, checksum
from peers.stop_table import STATES, WAYS, rows
from peers.stream_judge import StreamJudge

T = 0.002


class Wire:
    """A host by hand."""

    def __init__(self, layout="ce", **peer):
        self.judge = StreamJudge(bounds())
        self.peer = Pa10Peer(layout, witness=Pa10Witness(self.judge), **peer)
        self.now, self.number, self.layout = 10.0, 0, layout

    def send(self, kind, payload=b"", sender="host", after=T):
        self.now += after
        self.number = (self.number + 1) & 0x7F
        data = words.packet(self.number, kind, payload, of_host=True)
        return list(self.peer.hear(self.now, sender, data))

    def cycle(self, mode, speed=0.0, torque=0.0, **how):
        return self.send("C", cyclic(self.layout, mode, speed, torque), **how)

    def active(self):
        self.send("S")
        self.cycle(words.BRAKE)
        self.judge.activated(self.now)
        self.cycle(words.SERVO)
        return self

    def at(self, speed, steps=30):
        for step in range(1, steps + 1):
            self.cycle(words.SERVO, speed * step / steps)
        return self


def cyclic(layout, mode, speed, torque):
    """A command to all axes alike, by hand: numbers of the documents, not the peer's reader."""
    payload = b""
    for axis in range(7):
        rated = (4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29)[axis]
        count = 0.05 if layout == "7c" else 50.0 * rated / 4096.0
        order = "little" if layout == "7c" else "big"
        t = round(np.broadcast_to(torque, 7)[axis] / count)
        v = round(np.broadcast_to(speed, 7)[axis] * 5000)
        payload += mode.to_bytes(1 if layout == "7c" else 2, order)
        payload += t.to_bytes(2, order, signed=True) + v.to_bytes(2, order, signed=True)
    return payload if layout == "7c" else payload + b"\0\0"


@pytest.mark.parametrize(
    ("rule", "act"),
    [
        ("speed", lambda wire: wire.at(1.05, 100)),
        ("acceleration", lambda wire: wire.at(0.5, 10)),
        ("acceleration", lambda wire: wire.at(0.4).cycle(words.BRAKE)),
        ("torque", lambda wire: wire.cycle(words.SERVO | words.TORQUE, torque=1.01 * TORQUES)),
        ("phase", lambda wire: (wire.judge.asked_to_stop(wire.now, 0.0), wire.at(0.1))),
        ("phase", lambda wire: (wire.cycle(words.BRAKE), wire.cycle(words.SERVO, 0.01))),
        ("phase", lambda wire: (wire.send("E"), wire.send("S"), wire.cycle(words.SERVO, 0.01))),
        ("sender", lambda wire: wire.send("S", sender="another")),
        ("frame", lambda wire: wire.send("W")),
        ("frame", lambda wire: wire.send("C", b"\0" * 43)),
        ("position", lambda wire: (wire.at(0.2, 40), *(wire.cycle(words.SERVO, 0.2) for _ in range(20)))),
    ],
)
def test_a_host_that_breaks_a_rule_is_seen(rule, act):
    wire = Wire(**({"start": LIMITS - 0.002} if rule == "position" else {})).active()
    act(wire)
    assert rule in wire.judge.counts


def test_torque_that_is_dropped_with_open_brakes_lets_the_arm_fall_and_is_seen():
    wire = Wire().active()
    hold, _ = gravity("ce", AT)
    for _ in range(50):
        wire.cycle(words.SERVO | words.TORQUE, torque=hold)
    assert wire.judge.unsafe == []
    held = wire.peer.body.q.copy()
    assert held == pytest.approx(AT, abs=2e-3)  # what a count of torque leaves over
    for _ in range(120):
        wire.cycle(words.SERVO | words.TORQUE, torque=0.0)
    assert {"torque rate", "held by nothing"} <= set(wire.judge.counts)
    assert np.abs(wire.peer.body.q - held).max() > 0.1


@pytest.mark.parametrize(
    ("rule", "frame"),
    [
        ("speed", bytes.fromhex("fd0000") + bytes((35, *[0xFF] * 11))),
        ("position", bytes.fromhex("fd0000") + bytes((200, *[0xFF] * 11))),
        ("frame", bytes.fromhex("fb00")),
        ("phase", bytes.fromhex("ef0000")),
    ],
)
def test_frames_that_must_not_be_are_seen(rule, frame):
    judge = ServoJudge(0.05)
    line = Rcb1Peer(judge)
    judge.activated(1.0)
    line.hear(1.0, frame + bytes((checksum(frame),)))
    assert set(judge.counts) == {rule}


@pytest.mark.parametrize("way", WAYS)
def test_an_arm_is_stopped_in_every_state_in_time_and_stays_so(way) -> None:
    made = list(rows([way]))
    assert len(made) == len(STATES)
    for row in made:
        assert row.last_motion <= row.limit, row
        assert not row.unsafe, row
