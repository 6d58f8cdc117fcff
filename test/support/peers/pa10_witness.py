# SPDX-License-Identifier: Apache-2.0
"""Reads a PA-10's packets to the stream judge."""

from __future__ import annotations

import math

import numpy as np

from peers import pa10_words as words
from peers.pa10 import Pa10Peer
from peers.pa10_body import LIMITS, SPEEDS, TORQUES
from peers.stream_judge import Bounds, Commanded, StreamJudge

SLOW = 0.01  # [rad/s] below which an axis counts as standing
KINDS = "SCEAR"  # that a driver has a reason to send


def bounds(*, acceleration: float | None = None) -> Bounds:
    """Those of the arm; acceleration: from full speed to rest in 0.1 s unless given."""
    return Bounds(
        lower=-LIMITS,
        upper=LIMITS,
        speed=SPEEDS,
        acceleration=SPEEDS / 0.1 if acceleration is None else np.full(7, acceleration),
        torque=TORQUES,
        torque_rate=TORQUES / 0.05,
    )


def is_safe(peer: Pa10Peer) -> bool:
    """True if the arm stands and is not commanded to move."""
    stands = bool(np.abs(peer.body.v).max() < SLOW)
    return stands and (peer.is_safe or not any(one.moves for one in peer.commands))


class Pa10Witness:
    """Stands between the fibre and the controller, and informs the judge."""

    def __init__(self, judge: StreamJudge) -> None:
        self.judge = judge
        self.unsafe_at = -math.inf
        self._was_started = False

    def heard(self, now: float, sender: object, packet: words.Packet | None, data: bytes, peer: Pa10Peer) -> None:
        judge = self.judge
        judge.sent_by(now, sender)
        if packet is None or packet.kind not in KINDS:
            judge.broke(now, "frame", f"{data[:12].hex(' ')}... is no packet that a controller knows")
            return
        if self._was_started and not peer.is_started:
            judge.ended(now, by_host=False)  # by its own watchdog, or for want of power
        by_host = sender not in judge.strangers
        if packet.kind == "S":
            judge.started(now, by_host=by_host)
        elif packet.kind == "E" or (packet.kind == "C" and not by_host):
            judge.ended(now, by_host=by_host)  # a stranger's C takes the arm as its E does
        elif packet.kind == "C":
            self._cycle(now, packet, peer)
        self._was_started = packet.kind == "S" or (peer.is_started and packet.kind != "E")

    def _cycle(self, now: float, packet: words.Packet, peer: Pa10Peer) -> None:
        read = words.read_cycle(peer.layout, packet.payload)
        if read is None:
            self.judge.broke(now, "frame", f"a cyclic command of {len(packet.payload)} bytes")
            return
        axes, _ = read
        braked = np.array([not one.is_driven for one in axes])
        in_torque = np.array([one.is_driven and bool(one.mode & words.TORQUE) for one in axes])
        speed = np.array([one.speed for one in axes])
        torque = np.array([one.torque for one in axes])
        command = Commanded(braked, in_torque, np.where(braked | in_torque, 0.0, speed), torque)
        self.judge.commanded(now, command, peer.body.q, ~peer.braked, arrives=peer.is_powered and not peer.is_deaf)

    def moved(self, now: float, peer: Pa10Peer) -> None:
        if not is_safe(peer):
            self.unsafe_at = now
        self.judge.is_at(now, peer.body.q)
