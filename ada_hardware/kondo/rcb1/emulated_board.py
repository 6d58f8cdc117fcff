# SPDX-License-Identifier: Apache-2.0
"""One emulated RCB-1: its servos, its memory, and the motion that it plays.

Assumptions, as the documents do not say: a command for positions ends a motion that plays; a frame that was never
written is the home position at speed 0; a channel without a servo reads as 0xE1; motions play only where the switch for
them is on, which it is at power-on; where boards `wait`, a frame ends on both when its slower one ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ada_hardware.kondo.motion_file import SECONDS_PER_DEGREE
from ada_hardware.kondo.rcb1 import commands as c
from ada_hardware.kondo.rcb1.codec import Command
from ada_hardware.kondo.servo_motion import ServoMotion

Values = tuple[int, ...]


class EmulatedBoard:
    """A board with servos on some of its 12 channels.

    Attributes:
        id: that it answers to.
        servos: by channel, 0 to 11.
        peer: the other board of the robot, whose frames are waited for; None: none.
        slowness: factor on all durations (a weak battery).
        played: names of the frames that were begun, as (motion, frame).
    """

    def __init__(self, board_id: int, homes: Mapping[int, float]) -> None:
        """Switch it on, at home.

        Args:
            board_id: its ID.
            homes: servo angles of the home position, by channel [deg].
        """
        self.id = board_id
        self.servos = {channel: ServoMotion(home) for channel, home in homes.items()}
        self.home: Values = tuple(round(homes[i]) if i in homes else c.LOW for i in range(c.BOARD_CHANNELS))
        self.trims: Values = (c.TRIM_ZERO,) * c.BOARD_CHANNELS
        self.switches = c.MOTION_ENABLE
        self.peer: EmulatedBoard | None = None
        self.slowness = 1.0
        self.played: list[tuple[int, int]] = []
        self._frames: dict[tuple[int, int], Values] = {}  # (motion, frame) -> speed, channels
        self._counts = [0] * c.MOTIONS
        self._entries: dict[tuple[int, int], int] = {}
        self._entry_counts = [0] * c.SCENARIOS
        self._keys: dict[int, Values] = {}
        self._queue: list[tuple[int, int]] = []  # frames that are still to be played
        self._frame_end = 0.0

    # --- what the host asks -----------------------------------------------------------------------------------------
    def obey(self, command: Command, now: float) -> Values | None:
        """Do what a command says; the values of its reply, empty for an ACK; None: it cannot be, there is no answer."""
        v, code = command.values, c.Code
        match command.code:
            case code.SET_ID:
                self.id = command.board
            case code.SET_POSITIONS:
                self._queue.clear()
                self.move(v[0], v[1:], now)
            case code.GET_POSITIONS:
                return tuple(self._read(channel, now) for channel in range(c.BOARD_CHANNELS))
            case code.STORE_HOME:
                self.home = tuple(self._read(channel, now) for channel in range(c.BOARD_CHANNELS))
            case code.GET_HOME:
                return self.home
            case code.SET_SWITCHES:
                self._switch(v[0], now)
            case code.GET_SWITCHES:
                return (self.switches,)
            case code.SET_TRIMS:
                self.trims = v
            case code.GET_TRIMS:
                return self.trims
            case code.SET_KEY:
                self._keys[v[0]] = v[1:]
            case code.GET_KEY:
                return self._keys.get(v[0], (0, 0, 0))
            case _:
                return self._remember_or_play(command, now)
        return ()

    def _remember_or_play(self, command: Command, now: float) -> Values | None:
        v, code = command.values, c.Code
        if not all(field.allows(value) for field, value in zip(command.kind.fields, v, strict=True)):
            return None  # there is no such place in its memory
        match command.code:
            case code.SET_FRAME:
                self._frames[v[0], v[1]] = v[2:]
            case code.GET_FRAME:
                return self.frame(v[0], v[1])
            case code.SET_FRAME_COUNT:
                self._counts[v[0]] = v[1]
            case code.GET_FRAME_COUNT:
                return (self._counts[v[0]],)
            case code.SET_ENTRY:
                self._entries[v[0], v[1]] = v[2]
            case code.GET_ENTRY:
                return (self._entries.get((v[0], v[1]), 0),)
            case code.SET_ENTRY_COUNT:
                self._entry_counts[v[0]] = v[1]
            case code.GET_ENTRY_COUNT:
                return (self._entry_counts[v[0]],)
            case code.PLAY_MOTION:
                self._play([v[0]], now)
            case code.PLAY_SCENARIO:
                self._play([self._entries.get((v[0], i), 0) for i in range(self._entry_counts[v[0]])], now)
        return ()

    def frame(self, motion: int, index: int) -> Values:
        """A stored key frame: speed and twelve channels."""
        return self._frames.get((motion, index), (0, *self.home))

    # --- motion -----------------------------------------------------------------------------------------------------
    def move(self, speed: int, channels: Sequence[int], now: float) -> None:
        """Turn servos to positions; all of them arrive together."""
        self._go(channels, self._duration(speed, self._change(channels, now)), now)

    @property
    def next_frame(self) -> float:
        """When the next frame of a motion begins; inf: there is none."""
        return self._frame_end if self._queue else math.inf

    def begin_frame(self) -> None:
        """Begin the next frame of a motion."""
        begin = self._frame_end
        motion, index = self._queue.pop(0)
        speed, *channels = self.frame(motion, index)
        change = self._change(channels, begin)
        if self.peer is not None and index < self.peer._counts[motion]:
            change = max(change, self.peer._change(self.peer.frame(motion, index)[1:], begin))
        duration = self._duration(speed, change)
        self._go(channels, duration, begin)
        self._frame_end = begin + duration
        self.played.append((motion, index))

    def is_playing(self, now: float) -> bool:
        """True if a motion goes on."""
        return bool(self._queue) or (bool(self.played) and now < self._frame_end)

    def limp(self, now: float) -> None:
        """Lose power for a moment: servos are free, the motion is over."""
        self._queue.clear()
        for servo in self.servos.values():
            servo.release(now)

    def _play(self, motions: Sequence[int], now: float) -> None:
        if self.switches & c.MOTION_ENABLE:
            self._queue = [(motion, index) for motion in motions for index in range(self._counts[motion])]
            self._frame_end = now

    def _switch(self, switches: int, now: float) -> None:
        self.switches = switches
        if switches & c.SLEEP:
            self.limp(now)

    def _go(self, channels: Sequence[int], duration: float, now: float) -> None:
        if self.switches & c.SLEEP:
            return
        for channel, servo in self.servos.items():
            value = channels[channel]
            if value <= c.LARGEST_ANGLE:
                servo.go(float(value), duration, now)
            elif value in (c.FREE, c.LOW):
                servo.release(now)

    def _change(self, channels: Sequence[int], now: float) -> float:
        """The largest way of a servo to its new position [deg]."""
        ways = (abs(channels[i] - s.at(now)) for i, s in self.servos.items() if channels[i] <= c.LARGEST_ANGLE)
        return max(ways, default=0.0)

    def _duration(self, speed: int, change: float) -> float:
        level = min(max(speed, 0), c.SPEEDS - 1)
        return SECONDS_PER_DEGREE[level] * change * self.slowness

    def _read(self, channel: int, now: float) -> int:
        servo = self.servos.get(channel)
        return c.LOW if servo is None else min(max(round(servo.at(now)), 0), c.LARGEST_ANGLE)
