# SPDX-License-Identifier: Apache-2.0
"""A DynPick and a Net F/T, from the documents alone; every fault has a switch."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

import numpy as np

from peers.clock import Answers, Reply

ZERO = 8192
PERIOD = 0.001  # [s] of records that come by themselves
SENSITIVITY = (24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0)  # counts per N and N m
SLOPES = np.array([30.0, -20.0, 12.0, 0.4, -0.3, 0.25])  # [N/s, N m/s]
OUT_OF_RANGE, SUMMARY, CONDITION, WATCHDOG = 0x00020000, 0x80000000, 0x00010000, 0x00004000


def load(now: float) -> np.ndarray:
    """Load on a sensor: no two moments within 2 s are alike."""
    return SLOPES * ((now % 2.0) - 1.0)


class DynPickPeer(Answers):
    """DynPick, asked for each record or streaming."""

    def __init__(self) -> None:
        super().__init__(0.0003)
        self._count = 0
        self._next = float("inf")

    def record(self, now: float) -> bytes:
        counts = np.round(load(now) * SENSITIVITY).astype(int) + ZERO
        self._count = (self._count + 1) % 10
        return f"{self._count}".encode() + b"".join(b"%04X" % max(0, min(0x3FFF, int(c))) for c in counts) + b"\r\n"

    def hear(self, now: float, data: bytes) -> Iterable[Reply]:
        replies = []
        for letter in data.decode("latin-1"):
            if letter == "R":
                replies.append(self.said(self.record(now)))
            elif letter == "S":
                self._next = now + PERIOD
            elif letter == "E":
                self._next = float("inf")
        return [(self.answer_after, one) for one in replies if one]

    def stream(self, until: float) -> Iterable[tuple[float, bytes]]:
        while self._next <= until:
            at, self._next = self._next, self._next + PERIOD
            said = self.said(self.record(at))
            if said:
                yield at + 0.0003, said


class NetFtPeer(Answers):
    """Net F/T; `delay` maps the number of a record to its extra latency [s]."""

    PAGE = (
        "<?xml version='1.0'?><netftStatus><prodname>peer</prodname><cfgcpf>1000000</cfgcpf><cfgcpt>1000000</cfgcpt>"
        "<scfgfu>N</scfgfu><scfgtu>Nmm</scfgtu></netftStatus>"
    )

    def __init__(self) -> None:
        super().__init__(0.0002)
        self.status, self.twice, self.frozen = 0, 0, False
        self.delay: Callable[[int], float] = lambda number: 0.0
        self._next, self._number, self._ft = float("inf"), 0, 0
        self._still = np.zeros(6)

    def record(self, now: float) -> bytes:
        self._number += 1
        if not self.frozen:
            self._ft += 7
            self._still = load(now)
        counts = self._still * np.array([1e6, 1e6, 1e6, 1e9, 1e9, 1e9])
        numbers = [max(-(2**31), min(2**31 - 1, round(float(one)))) for one in counts]
        return struct.pack(">III6i", self._number, self._ft, self.status, *numbers)

    def hear(self, now: float, data: bytes) -> Iterable[Reply]:
        if len(data) == 8 and data[:2] == b"\x12\x34":
            command = int.from_bytes(data[2:4], "big")
            if command in (2, 3):
                self._next = now + PERIOD
            elif command == 0:
                self._next = float("inf")
        return ()

    def stream(self, until: float) -> Iterable[tuple[float, bytes]]:
        while self._next <= until:
            at, self._next = self._next, self._next + PERIOD
            record = self.said(self.record(at))
            if not record:
                continue
            came = at + self.answer_after + self.delay(self._number)
            yield came, record
            if self.twice and self._number % self.twice == 0:
                yield came + 0.0001, record
