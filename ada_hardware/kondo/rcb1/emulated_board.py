# SPDX-License-Identifier: Apache-2.0
"""Emulated RCB-1 board: servos, memory, playback of stored motions.

Assumptions (not documented): a position command ends a running motion; a key frame that was never written is the home
position at speed 0; a channel without a servo reads 0xE1; motions play only if their switch is on, which is the state
at power-on; with `boards_wait`, a frame ends on both boards when the slower one has finished.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ada_hardware.kondo.board_emulator import ServoMotion
from ada_hardware.kondo.motion_file import SECONDS_PER_DEGREE
from ada_hardware.kondo.rcb1 import commands as c
from ada_hardware.kondo.rcb1.codec import CommandFrame

Values = tuple[int, ...]
# Write commands: the corresponding read command, and the number of values that form the address.
_STORED = {
    c.Code.SET_FRAME: (c.Code.GET_FRAME, 2),
    c.Code.SET_FRAME_COUNT: (c.Code.GET_FRAME_COUNT, 1),
    c.Code.SET_ENTRY: (c.Code.GET_ENTRY, 2),
    c.Code.SET_ENTRY_COUNT: (c.Code.GET_ENTRY_COUNT, 1),
    c.Code.SET_KEY: (c.Code.GET_KEY, 1),
    c.Code.SET_TRIMS: (c.Code.GET_TRIMS, 0),
}
_READERS = dict(_STORED.values())
_TAKES_ANY = (c.Code.SET_ID, c.Code.SET_POSITIONS, c.Code.SET_SWITCHES, c.Code.SET_TRIMS)  # accept any values


class EmulatedBoard:
    """Board with servos on some of its 12 channels.

    Attributes:
        id: board ID.
        servos: servos by channel, 0 to 11.
        peer: other board whose frames this one waits for; None: no waiting.
        duration_factor: factor on all durations (weak battery).
        played: (motion, frame) of all frames that were started.
    """

    def __init__(self, board_id: int, homes: Mapping[int, float]) -> None:
        """Start at the home position.

        Args:
            board_id: ID of the board.
            homes: servo angles of the home position by channel [deg].
        """
        self.id = board_id
        self.servos = {channel: ServoMotion(home) for channel, home in homes.items()}
        self.home: Values = tuple(round(homes[i]) if i in homes else c.LOW for i in range(c.BOARD_CHANNELS))
        self.switches = c.MOTION_ENABLE
        self.peer: EmulatedBoard | None = None
        self.duration_factor = 1.0
        self.played: list[tuple[int, int]] = []
        self._memory: dict[Values, Values] = {}  # by read command and address
        self._queue: list[tuple[int, int]] = []  # frames to be played
        self._frame_end = 0.0

    # --- commands ---------------------------------------------------------------------------------------------------
    def execute(self, command: CommandFrame, now: float) -> Values | None:
        """Execute a command; return the reply values, empty for an ACK, or None for no reply (invalid address)."""
        v, code = command.values, c.Code
        are_allowed = all(field.allows(value) for field, value in zip(command.kind.fields, v, strict=True))
        if not are_allowed and command.code not in _TAKES_ANY:
            return None  # no such memory address
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
                self.switches = v[0] & (c.SLEEP | c.MOTION_ENABLE)  # the other bits are undocumented
                if v[0] & c.SLEEP:
                    self.power_off(now)
            case code.GET_SWITCHES:
                return (self.switches,)
            case code.PLAY_MOTION:
                self._play([v[0]], now)
            case code.PLAY_SCENARIO:
                count = self._recall(code.GET_ENTRY_COUNT, v[0])[0]
                self._play([self._recall(code.GET_ENTRY, v[0], i)[0] for i in range(count)], now)
            case writer if writer in _STORED:
                reader, size = _STORED[writer]
                kept = [x if f.allows(x) else f.highest for f, x in zip(command.kind.fields, v, strict=True)]
                self._memory[(reader, *v[:size])] = tuple(kept[size:])
            case reader:
                return self._recall(reader, *v[: _READERS[reader]])
        return ()

    def _recall(self, reader: c.Code, *where: int) -> Values:
        defaults: dict[c.Code, Values] = {
            c.Code.GET_FRAME: (0, *self.home),
            c.Code.GET_KEY: (0, 0, 0),
            c.Code.GET_TRIMS: (c.TRIM_ZERO,) * c.BOARD_CHANNELS,
        }
        return self._memory.get((reader, *where), defaults.get(reader, (0,)))

    def frame(self, motion: int, index: int) -> Values:
        """Stored key frame: speed and twelve channels."""
        return self._recall(c.Code.GET_FRAME, motion, index)

    def frames(self, motion: int) -> int:
        """Number of frames of a stored motion."""
        return self._recall(c.Code.GET_FRAME_COUNT, motion)[0]

    # --- motion -----------------------------------------------------------------------------------------------------
    def move(self, speed: int, channels: Sequence[int], now: float) -> None:
        """Move servos to positions so that all arrive at the same time."""
        self._go(channels, self._duration(speed, self._change(channels, now)), now)

    @property
    def next_frame(self) -> float:
        """Start time of the next frame of the running motion; inf without one."""
        return self._frame_end if self._queue else math.inf

    def begin_frame(self) -> None:
        """Start the next frame of the running motion."""
        begin = self._frame_end
        motion, index = self._queue.pop(0)
        speed, *channels = self.frame(motion, index)
        change = self._change(channels, begin)
        if self.peer is not None and index < self.peer.frames(motion):
            change = max(change, self.peer._change(self.peer.frame(motion, index)[1:], begin))
        duration = self._duration(speed, change)
        self._go(channels, duration, begin)
        self._frame_end = begin + duration
        self.played.append((motion, index))

    def is_playing(self, now: float) -> bool:
        """Return True while a motion is running."""
        return bool(self._queue) or (bool(self.played) and now < self._frame_end)

    def power_off(self, now: float) -> None:
        """Free all servos and end the running motion (loss of power)."""
        self._queue.clear()
        for servo in self.servos.values():
            servo.release(now)

    def _play(self, motions: Sequence[int], now: float) -> None:
        if self.switches & c.MOTION_ENABLE:
            self._queue = [(motion, index) for motion in motions for index in range(self.frames(motion))]
            self._frame_end = now

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
        """Largest angle change of a servo [deg]."""
        ways = (abs(channels[i] - s.at(now)) for i, s in self.servos.items() if channels[i] <= c.LARGEST_ANGLE)
        return max(ways, default=0.0)

    def _duration(self, speed: int, change: float) -> float:
        level = min(max(speed, 0), c.SPEEDS - 1)
        return SECONDS_PER_DEGREE[level] * change * self.duration_factor

    def _read(self, channel: int, now: float) -> int:
        servo = self.servos.get(channel)
        return c.LOW if servo is None else min(max(round(servo.at(now)), 0), c.LARGEST_ANGLE)
