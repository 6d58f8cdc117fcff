# SPDX-License-Identifier: Apache-2.0
"""Stored motions of the boards: upload, verification, playback; sampling of motions for playback by the host.

    motion = StoredMotion.read("walk.csv", driver.map)
    memory = BoardMemory(driver.bus, driver.board_ids)
    memory.upload(3, motion, progress=print)             # both boards; read back and compared
    memory.play(3)                                       # both boards, one right after the other

Each board stores and plays its own twelve channels; both receive the same frames with the same speeds. Whether a board
waits for the other at the end of a frame is not documented: hold the robot when you test a motion in which the largest
change of a frame is on one board.
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

Progress = Callable[[int, int], object]  # frames done, total


class VerifyError(HardwareError):
    """Memory of a board differs from the data written; the message names board, frame and channel."""


@dataclass(frozen=True)
class StoredMotion:
    """Motion in the format of the board memory.

    Attributes:
        frames: key frames, each a speed and 24 channels.
        name: name for messages.
    """

    frames: tuple[tuple[int, ...], ...]
    name: str = "the motion"

    @staticmethod
    def read(path: PathLike, angle_map: AngleMap) -> StoredMotion:
        """Read a motion file (CSV) of Heart To Heart.

        Raises:
            MotionError: the file is invalid, has no key frames, or more than a board can store.
        """
        frames = []
        for frame in read_key_frames(path, angle_map):
            channels = [c.LOW] * CHANNELS
            for servo, angle in zip(angle_map.servos.values(), frame.angles, strict=True):
                channels[servo.channel - 1] = round(float(angle))
            frames.append((frame.speed, *channels))
        if not 1 <= len(frames) <= c.MOTION_FRAMES:
            text = (
                f"{path}: {len(frames)} key frames; a board stores 1 to {c.MOTION_FRAMES} per motion. Split it into "
                "several motions."
            )
            raise MotionError(text, file=path, field="frames", value=len(frames), allowed=f"1 to {c.MOTION_FRAMES}")
        return StoredMotion(tuple(frames), str(path))

    def of_board(self, number: int) -> list[tuple[int, ...]]:
        """Return the frames of board 0 or 1: speed and twelve channels each."""
        first = 1 + number * c.BOARD_CHANNELS
        return [(frame[0], *frame[first : first + c.BOARD_CHANNELS]) for frame in self.frames]


class BoardMemory:
    """Stored motions of the boards of a robot."""

    def __init__(self, bus: Rcb1Bus, board_ids: Sequence[int]) -> None:
        """Use open boards.

        Args:
            bus: line of the boards.
            board_ids: ID of the board with channels 1 to 12, then with 13 to 24.
        """
        self._bus, self._ids = bus, tuple(board_ids)

    # --- motions ----------------------------------------------------------------------------------------------------
    def upload(self, number: int, motion: StoredMotion, progress: Progress | None = None) -> None:
        """Write a motion to both boards, read it back and compare.

        The frame count is written last, so an incomplete motion cannot be played.

        Args:
            number: number under which the motion is stored, 0 to 39; an existing motion is overwritten.
            motion: motion to store.
            progress: called after each frame written or read back, with the number of frames done and in total.

        Raises:
            InputError: the number is out of range.
            NoAnswer: a board does not reply.
            VerifyError: the data read back differ.
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
        """Start a stored motion on both boards. The robot moves.

        Raises:
            InputError: the number is out of range.
            NoAnswer: a board does not reply; the other board may move.
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
                    f"{self._bus.url}: board {board}: {what} of frame {index} of motion {number} reads {found} instead "
                    f"of {wanted}; upload it again."
                )
                raise VerifyError(
                    text, field=f"board {board}, motion {number}, frame {index}, {what}", value=found, allowed=wanted
                )

    def _set_count(self, board: int, number: int, count: int) -> None:
        self._bus.ask(c.Code.SET_FRAME_COUNT, board, (number, count))
        stored = self._bus.ask(c.Code.GET_FRAME_COUNT, board, (number,)).values[0]
        if stored != count:
            text = (
                f"{self._bus.url}: board {board} acknowledged {count} frames for motion {number}, but reads {stored}; "
                "upload it again."
            )
            raise VerifyError(text, field=f"board {board}, motion {number}, frames", value=stored, allowed=count)


def sampled(
    times: Array, angles: Mapping[str, Array], period: float, joints: Sequence[str], start: Array | None = None
) -> Array:
    """Sample a motion with linear interpolation between its key frames, one sample per period.

    Args:
        times: times of the key frames [s], as returned by `kondo.motion_file.read_motion`.
        angles: angles by joint [rad].
        period: sampling period [s].
        joints: joints in the order of the columns.
        start: present configuration [rad], from which the first key frame is approached at the slowest speed; None: the
            robot is at the first key frame.

    Raises:
        InputError: the motion lacks a joint.
    """
    unknown = [joint for joint in joints if joint not in angles]
    if unknown:
        text = f"the motion has no joint {', '.join(unknown)}; it has {', '.join(angles)}."
        raise InputError(text, joint=unknown[0], allowed=tuple(angles))
    frames = np.column_stack([angles[joint] for joint in joints])
    if start is not None:
        way = float(np.degrees(np.max(np.abs(frames[0] - start)))) * SECONDS_PER_DEGREE[-1]
        frames, times = np.vstack([start, frames]), np.concatenate([[times[0] - way], times])
    at = times[0] + period * np.arange(int(np.ceil((times[-1] - times[0]) / period)) + 1)
    return np.column_stack([np.interp(at, times, column) for column in frames.T])


def _check(number: int) -> None:
    if number not in range(c.MOTIONS):
        text = f"motion {number}: allowed are 0 to {c.MOTIONS - 1}."
        raise InputError(text, field="motion", value=number, allowed=f"0 to {c.MOTIONS - 1}")


def _reported(progress: Progress | None, done: int, total: int) -> int:
    if progress is not None:
        progress(done, total)
    return done
