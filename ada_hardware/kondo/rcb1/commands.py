# SPDX-License-Identifier: Apache-2.0
"""Command table of the RCB-1: code, fields and reply of all documented commands.

Sources, which agree: RoadNarrows' KHR1Cmd.py and KHR1Serial.py, Rcb1.cs, D. Albert's partial translation of "RCB-1
Command Reference" 2005.02. A command has no start marker; its first byte determines its length. The last byte of a
command, and of a reply with data, is the sum of the preceding bytes AND 0x7F. The reply to a write command is
[board, 0x06]. A board does not reply to damaged frames or frames for another board.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

BAUD = 115_200
_BITS = 10  # per byte: start, eight data bits, stop
BOARD_CHANNELS = 12
BOARDS = 32  # IDs 0 to 31
MOTIONS = 40  # per board, numbered from 0
MOTION_FRAMES = 100  # per motion
SCENARIOS = 4
SCENARIO_ENTRIES = 200
SPEEDS = 8  # 0 fastest, 7 slowest
LARGEST_ANGLE = 180  # [deg]; one count is one degree
TRIM_ZERO = 20  # encodes a trim of 0 deg
LARGEST_TRIM = 20  # [deg] in both directions
ACK = 0x06
ID_KEY = 0x5A  # second byte of SET_ID, protects against accidental use
SLEEP = 0x01  # software switch: servos are free
MOTION_ENABLE = 0x02  # software switch: stored motions can be played

# Special values in place of an angle; supported by the red servos, not by the older blue ones.
FREE = 0xDD
POSITION_1, POSITION_2, POSITION_3 = 0xDE, 0xDF, 0xE0
LOW = 0xE1  # in files and home lists of Heart To Heart: channel without a servo
HIGH = 0xE2
UNUSED_OF_RCB1_CS = 0xFF  # written by Rcb1.cs for a channel without a servo
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
        name: name for messages.
        lowest: smallest regular value.
        highest: largest regular value.
        others: special values.
    """

    name: str
    lowest: int
    highest: int
    others: tuple[int, ...] = ()

    def allows(self, value: int) -> bool:
        """Return True if the value is allowed."""
        return self.lowest <= value <= self.highest or value in self.others

    @property
    def allowed(self) -> str:
        """Allowed values as text."""
        more = f", or one of {', '.join(f'{value:#04x}' for value in self.others)}" if self.others else ""
        return f"{self.lowest} to {self.highest}{more}"


class CommandKind(NamedTuple):
    """Entry of the command table.

    Attributes:
        code: first byte.
        names_board: the board ID follows the code (and ID_KEY).
        fields: fields between board ID and checksum.
        reply: fields of the reply between board ID and checksum; None: the reply is [ID, ACK].
        keyed: ID_KEY follows the code.
    """

    code: Code
    names_board: bool
    fields: tuple[Field, ...]
    reply: tuple[Field, ...] | None
    keyed: bool = False

    @property
    def length(self) -> int:
        """Length of the command including its checksum [bytes]."""
        return 1 + self.keyed + self.names_board + len(self.fields) + 1

    @property
    def reply_length(self) -> int:
        """Length of the reply including its checksum or ACK [bytes]."""
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
# The meaning of these bytes is unknown; they are passed on unchanged.
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


def wire_time(code: Code) -> float:
    """Transmission time of a command and its reply [s]."""
    kind = COMMANDS[code]
    return (kind.length + kind.reply_length) * _BITS / BAUD
