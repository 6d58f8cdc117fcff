# SPDX-License-Identifier: Apache-2.0
"""All documented commands of the RCB-1, as one table: code, fields, reply. The codec and the emulator read it.

Sources, which agree: RoadNarrows' KHR1Cmd.py and KHR1Serial.py, Rcb1.cs, D. Albert's partial translation of "RCB-1
Command Reference" 2005.02. A command has no start mark; its length follows from its first byte. Its last byte, and that
of a reply with data, is the sum of the bytes before it AND 0x7F. A command that writes is answered by [board, 0x06];
there is no answer to a frame that is damaged or for another board.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

BOARD_CHANNELS = 12
BOARDS = 32  # IDs 0 to 31
MOTIONS = 40  # of a board, numbered from 0
MOTION_FRAMES = 100  # of a motion
SCENARIOS = 4
SCENARIO_ENTRIES = 200
SPEEDS = 8  # 0 fastest, 7 slowest
LARGEST_ANGLE = 180  # [deg]; a count is one degree
TRIM_ZERO = 20  # what stands for a trim of 0 deg
LARGEST_TRIM = 20  # [deg] either way
ACK = 0x06
ID_KEY = 0x5A  # second byte of the command that sets a board's ID, lest it be sent by chance
SLEEP = 0x01  # software switch: servos are free
MOTION_ENABLE = 0x02  # software switch: motions can be played

# Instead of an angle; servos of the red version know them, the older blue ones do not.
FREE = 0xDD
POSITION_1, POSITION_2, POSITION_3 = 0xDE, 0xDF, 0xE0
LOW = 0xE1  # in files and home lists of Heart To Heart: a channel without a servo
HIGH = 0xE2
UNUSED_OF_RCB1_CS = 0xFF  # what Rcb1.cs writes for a channel without a servo
SPECIAL_POSITIONS = (FREE, POSITION_1, POSITION_2, POSITION_3, LOW, HIGH, UNUSED_OF_RCB1_CS)


class Code(IntEnum):
    """First byte of a command."""

    SET_ID = 0xFF
    GET_ID = 0xFE
    SET_POSITIONS = 0xFD
    GET_POSITIONS = 0xFC
    STORE_HOME = 0xFB
    GET_HOME = 0xFA
    SET_FRAME = 0xF9
    GET_FRAME = 0xF8
    SET_FRAME_COUNT = 0xF7
    GET_FRAME_COUNT = 0xF6
    SET_ENTRY = 0xF5
    GET_ENTRY = 0xF4
    SET_ENTRY_COUNT = 0xF3
    GET_ENTRY_COUNT = 0xF2
    SET_SWITCHES = 0xF1
    GET_SWITCHES = 0xF0
    PLAY_MOTION = 0xEF
    PLAY_SCENARIO = 0xEE
    SET_KEY = 0xED
    GET_KEY = 0xEC
    SET_TRIMS = 0xE9
    GET_TRIMS = 0xE8


class Field(NamedTuple):
    """One byte of a frame.

    Attributes:
        name: for messages.
        lowest: value.
        highest: value.
        others: further values that it may have.
    """

    name: str
    lowest: int
    highest: int
    others: tuple[int, ...] = ()

    def allows(self, value: int) -> bool:
        """True if it may have a value."""
        return self.lowest <= value <= self.highest or value in self.others

    @property
    def allowed(self) -> str:
        """Its values in words."""
        more = f", or one of {', '.join(f'{value:#04x}' for value in self.others)}" if self.others else ""
        return f"{self.lowest} to {self.highest}{more}"


class CommandKind(NamedTuple):
    """One row of the table.

    Attributes:
        code: first byte.
        names_board: whether the board's ID follows (after ID_KEY, where that is `keyed`).
        fields: what follows then, before the checksum.
        reply: what follows the board's ID in the reply, before the checksum; None: the reply is [ID, ACK].
        keyed: whether ID_KEY follows the code.
    """

    code: Code
    names_board: bool
    fields: tuple[Field, ...]
    reply: tuple[Field, ...] | None
    keyed: bool = False

    @property
    def length(self) -> int:
        """Length of the command, with its checksum [bytes]."""
        return 1 + self.keyed + self.names_board + len(self.fields) + 1

    @property
    def reply_length(self) -> int:
        """Length of the reply, with its checksum or ACK [bytes]."""
        return 2 if self.reply is None else 1 + len(self.reply) + 1


BOARD = Field("board", 0, BOARDS - 1)
SPEED = Field("speed", 0, SPEEDS - 1)
CHANNELS = tuple(Field(f"channel {i}", 0, LARGEST_ANGLE, SPECIAL_POSITIONS) for i in range(1, BOARD_CHANNELS + 1))
TRIMS = tuple(Field(f"trim {i}", 0, TRIM_ZERO + LARGEST_TRIM) for i in range(1, BOARD_CHANNELS + 1))
_MOTION = Field("motion", 0, MOTIONS - 1)
_FRAME = Field("frame", 0, MOTION_FRAMES - 1)
_FRAMES = Field("frames", 0, MOTION_FRAMES)
_SCENARIO = Field("scenario", 0, SCENARIOS - 1)
_ENTRY = Field("entry", 0, SCENARIO_ENTRIES - 1)
_ENTRIES = Field("entries", 0, SCENARIO_ENTRIES)
_SWITCHES = Field("switches", 0, SLEEP | MOTION_ENABLE)
_KEY = Field("key", 0, 255)
# The order of these bytes was not found out: they are passed on as they are.
_KEY_BYTES = tuple(Field(f"key byte {i}", 0, 255) for i in (1, 2, 3))

_KINDS = (
    CommandKind(Code.SET_ID, True, (), None, keyed=True),
    CommandKind(Code.GET_ID, False, (), ()),
    CommandKind(Code.SET_POSITIONS, True, (SPEED, *CHANNELS), None),
    CommandKind(Code.GET_POSITIONS, True, (), CHANNELS),
    CommandKind(Code.STORE_HOME, True, (), None),
    CommandKind(Code.GET_HOME, True, (), CHANNELS),
    CommandKind(Code.SET_FRAME, True, (_MOTION, _FRAME, SPEED, *CHANNELS), None),
    CommandKind(Code.GET_FRAME, True, (_MOTION, _FRAME), (SPEED, *CHANNELS)),
    CommandKind(Code.SET_FRAME_COUNT, True, (_MOTION, _FRAMES), None),
    CommandKind(Code.GET_FRAME_COUNT, True, (_MOTION,), (_FRAMES,)),
    CommandKind(Code.SET_ENTRY, True, (_SCENARIO, _ENTRY, _MOTION), None),
    CommandKind(Code.GET_ENTRY, True, (_SCENARIO, _ENTRY), (_MOTION,)),
    CommandKind(Code.SET_ENTRY_COUNT, True, (_SCENARIO, _ENTRIES), None),
    CommandKind(Code.GET_ENTRY_COUNT, True, (_SCENARIO,), (_ENTRIES,)),
    CommandKind(Code.SET_SWITCHES, True, (_SWITCHES,), None),
    CommandKind(Code.GET_SWITCHES, True, (), (_SWITCHES,)),
    CommandKind(Code.PLAY_MOTION, True, (_MOTION,), None),
    CommandKind(Code.PLAY_SCENARIO, True, (_SCENARIO,), None),
    CommandKind(Code.SET_KEY, True, (_KEY, *_KEY_BYTES), None),
    CommandKind(Code.GET_KEY, True, (_KEY,), _KEY_BYTES),
    CommandKind(Code.SET_TRIMS, True, TRIMS, None),
    CommandKind(Code.GET_TRIMS, True, (), TRIMS),
)

COMMANDS: Mapping[int, CommandKind] = {int(kind.code): kind for kind in _KINDS}
