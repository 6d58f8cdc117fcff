# SPDX-License-Identifier: Apache-2.0
"""Motions in the memory of the boards: uploaded, compared, played; or played from the host.

    motion = StoredMotion.read("walk.csv", driver.map)
    memory = BoardMemory(driver.bus, driver.board_ids)
    memory.upload(3, motion, progress=print)             # both boards; read back and compared
    memory.play(3)                                       # both boards, back to back

Each board stores its own twelve channels and plays them by itself; both get the same frames with the same speeds and
are started one right after the other. Whether a board waits for the other at the end of a frame is not documented:
where the largest change of a frame is on one board, try the motion with the robot held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.kondo.angle_map import CHANNELS, AngleMap, PathLike
from ada_hardware.kondo.errors import MotionError
from ada_hardware.kondo.motion_file import SECONDS_PER_DEGREE, read_key_frames
from ada_hardware.kondo.rcb1 import commands as c
from ada_hardware.kondo.rcb1.bus import Rcb1Bus
from ada_robot.errors import HardwareError

Progress = Callable[[int, int], object]  # frames that are done, and all of them


class VerifyError(HardwareError):
    """A board's memory does not hold what was written; the message names board, frame and channel."""


@dataclass(frozen=True)
class StoredMotion:
    """A motion as boards store it.

    Attributes:
        frames: each a speed and 24 channels.
        name: for messages.
    """

    frames: tuple[tuple[int, ...], ...]
    name: str = "the motion"

    @staticmethod
    def read(path: PathLike, angle_map: AngleMap) -> StoredMotion:
        """Read a motion of Heart To Heart (CSV).

        Raises:
            MotionError: the file is unusable, has no frames, or more than a board holds; the message says where.
        """
        frames = []
        for frame in read_key_frames(path, angle_map):
            channels = [c.LOW] * CHANNELS
            for servo, angle in zip(angle_map.servos.values(), frame.angles, strict=True):
                channels[servo.channel - 1] = round(float(angle))
            frames.append((frame.speed, *channels))
        if not 1 <= len(frames) <= c.MOTION_FRAMES:
            text = (
                f"{path}: it has {len(frames)} key frames; a board holds 1 to {c.MOTION_FRAMES} per motion. Split it "
                "into several motions."
            )
            raise MotionError(text, file=path, field="frames", value=len(frames), allowed=f"1 to {c.MOTION_FRAMES}")
        return StoredMotion(tuple(frames), str(path))

    def of_board(self, number: int) -> list[tuple[int, ...]]:
        """The frames of a board, 0 or 1: speed and twelve channels."""
        first = 1 + number * c.BOARD_CHANNELS
        return [(frame[0], *frame[first : first + c.BOARD_CHANNELS]) for frame in self.frames]


class BoardMemory:
    """Motions in the boards of a robot."""

    def __init__(self, bus: Rcb1Bus, board_ids: Sequence[int]) -> None:
        """Use boards.

        Args:
            bus: their line.
            board_ids: the one with channels 1 to 12, then the one with 13 to 24.
        """
        self._bus, self._ids = bus, tuple(board_ids)

    # --- motions ----------------------------------------------------------------------------------------------------
    def upload(self, number: int, motion: StoredMotion, progress: Progress | None = None) -> None:
        """Write a motion into both boards, read it back, compare.

        The number of frames comes last: a motion that was not written to its end cannot be played.

        Args:
            number: under which it is stored, 0 to 39; what was there is lost.
            motion: to be stored.
            progress: called after each frame that is written or read back, with how many of how many are done.

        Raises:
            InputError: there is no such number.
            NoAnswer: a board does not answer.
            VerifyError: it reads back differently.
        """
        _check(number)
        total, done = 2 * len(motion.frames) * len(self._ids), 0
        for i, board in enumerate(self._ids):
            self._bus.ask(c.Code.SET_FRAME_COUNT, board, (number, 0))
            for index, frame in enumerate(motion.of_board(i)):
                self._bus.ask(c.Code.SET_FRAME, board, (number, index, *frame))
                done = _reported(progress, done + 1, total)
        for i, board in enumerate(self._ids):
            for index, frame in enumerate(motion.of_board(i)):
                self._compare(board, number, index, frame)
                done = _reported(progress, done + 1, total)
        for board in self._ids:
            self._set_count(board, number, len(motion.frames))

    def play(self, number: int) -> None:
        """Start a motion on both boards, back to back. The robot moves.

        Raises:
            InputError: there is no such number.
            NoAnswer: a board does not answer; the other one may move.
        """
        _check(number)
        for board in self._ids:
            self._bus.ask(c.Code.PLAY_MOTION, board, (number,))

    # --- helpers ----------------------------------------------------------------------------------------------------
    def _compare(self, board: int, number: int, index: int, frame: Sequence[int]) -> None:
        stored = self._bus.ask(c.Code.GET_FRAME, board, (number, index)).values
        for place, (wanted, found) in enumerate(zip(frame, stored, strict=True)):
            if wanted != found:
                what = f"channel {place}" if place else "speed"
                text = (
                    f"{self._bus.url}: board {board} holds {found} as {what} of frame {index} of motion {number}, not "
                    f"{wanted}; upload it again."
                )
                raise VerifyError(
                    text, field=f"board {board}, motion {number}, frame {index}, {what}", value=found, allowed=wanted
                )

    def _set_count(self, board: int, number: int, count: int) -> None:
        self._bus.ask(c.Code.SET_FRAME_COUNT, board, (number, count))
        stored = self._bus.ask(c.Code.GET_FRAME_COUNT, board, (number,)).values[0]
        if stored != count:
            text = (
                f"{self._bus.url}: board {board} answers SET_FRAME_COUNT {count} of {number}, but holds {stored}; try "
                "again."
            )
            raise VerifyError(text, field=f"board {board}, motion {number}, frames", value=stored, allowed=count)


def sampled(
    times: Array, angles: Mapping[str, Array], period: float, joints: Sequence[str], start: Array | None = None
) -> Array:
    """A motion as commands of the host, one per period: servos turn at constant speed from frame to frame.

    Args:
        times: of its frames [s]; as from `kondo.motion_file.read_motion`.
        angles: by joint [rad].
        period: of the commands [s].
        joints: order of the columns.
        start: where the robot is [rad]; it comes from there to the first frame at the slowest speed. None: it is there.

    Raises:
        InputError: a joint that the motion does not name.
    """
    unknown = [joint for joint in joints if joint not in angles]
    if unknown:
        text = f"the motion does not name {', '.join(unknown)}; it has {', '.join(angles)}."
        raise InputError(text, joint=unknown[0], allowed=tuple(angles))
    frames = np.column_stack([angles[joint] for joint in joints])
    if start is not None:
        way = float(np.degrees(np.max(np.abs(frames[0] - start)))) * SECONDS_PER_DEGREE[-1]
        frames, times = np.vstack([start, frames]), np.concatenate([[times[0] - way], times])
    at = times[0] + period * np.arange(int(np.ceil((times[-1] - times[0]) / period)) + 1)
    return np.column_stack([np.interp(at, times, column) for column in frames.T])


def _check(number: int) -> None:
    if number not in range(c.MOTIONS):
        text = f"motion {number}: a board has numbers 0 to {c.MOTIONS - 1}."
        raise InputError(text, field="motion", value=number, allowed=f"0 to {c.MOTIONS - 1}")


def _reported(progress: Progress | None, done: int, total: int) -> int:
    if progress is not None:
        progress(done, total)
    return done
