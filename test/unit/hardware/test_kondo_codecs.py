# SPDX-License-Identifier: Apache-2.0
"""Bytes of RCB-1 and RCB-4: the documented frames and lengths, round trips, damage, noise."""

import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.errors import InputError
from ada_hardware.kondo.rcb1 import codec as rcb1
from ada_hardware.kondo.rcb1.codec import COMMANDS, NO_BOARD, Rcb1Code, Rcb1Command
from ada_hardware.kondo.rcb4 import codec as m
from ada_hardware.kondo.rcb4 import codec as rcb4
from ada_hardware.kondo.rcb4.codec import FREE, HOLD, Config, Move, Rcb4Code, angle_of_counts, counts_of_angle

# Command: total length, length of the reply; by RoadNarrows' KHR1Cmd.py, and the partial translation of the reference.
RCB1_LENGTHS = {
    0xFF: (4, 2), 0xFE: (2, 2), 0xFD: (16, 2), 0xFC: (3, 14), 0xFA: (3, 14), 0xF1: (4, 2), 0xF0: (3, 3),
}  # fmt: skip

# A position of a KHR-3HV's 17 servos in 12 frames, as HeartToHeart4 has written it into a motion file
# (sunilgora/xml-Kondo-khr3hv, run2genxml.py): an encoding by the maker's own program. Only the neck
# is not at its centre.
HEART_TO_HEART_4 = "2B 10 3D F3 3F 00 00 0C C4 1D" + " 4C 1D" * 16 + " 27"
KHR3_SERVOS = (0, 2, 3, 4, 5, 8, 9, *range(12, 22))


def values_of(fields):
    return st.tuples(*(st.one_of(st.integers(f.lowest, f.highest), *map(st.just, f.others)) for f in fields))


@st.composite
def rcb1_commands(draw):
    kind = COMMANDS[draw(st.sampled_from(sorted(COMMANDS)))]
    board = draw(st.integers(0, 31)) if kind.names_board else NO_BOARD
    return Rcb1Command(kind.code, board, draw(values_of(kind.fields)))


@st.composite
def rcb1_exchanges(draw):
    command = draw(rcb1_commands())
    board = command.board if command.board != NO_BOARD else draw(st.integers(0, 31))
    return command, rcb1.Rcb1Reply(command.code, board, draw(values_of(command.kind.reply or ())))


positions = st.one_of(st.integers(3500, 11500), st.sampled_from((FREE, HOLD)))
frames, servos = st.integers(1, 255), st.integers(0, 34)
servo_sets = st.sets(servos, min_size=1, max_size=6).map(sorted)


@st.composite
def memory(draw):
    """A place in the RAM, and how many bytes may go there at once."""
    address = draw(st.integers(0, 0x48F))
    return address, draw(st.integers(1, min(0x490 - address, 248)))


rcb4_commands = st.one_of(
    memory().map(lambda at: m.ReadRam(*at)),
    memory().map(lambda at: m.WriteRam(at[0], random.Random(at[1]).randbytes(at[1]))),
    st.builds(
        lambda frame, some, at: m.MoveServos(frame, tuple(Move(s, at) for s in some)), frames, servo_sets, positions
    ),
    st.sampled_from((m.Version(), m.AckCheck())),
)


@st.composite
def rcb4_exchanges(draw):
    command = draw(rcb4_commands)
    size = rcb4.data_length(command)
    if size == 0:
        return command, rcb4.Rcb4Reply(m.code_of(command), is_ack=draw(st.booleans()))
    size = draw(st.integers(2, 68)) if size is None else size
    return command, rcb4.Rcb4Reply(m.code_of(command), draw(st.randoms(use_true_random=False)).randbytes(size))


def rcb1_position(rng):
    values = (rng.randint(0, 7), *rng.choices(range(181), k=12))
    return Rcb1Command(Rcb1Code.SET_POSITIONS, rng.randint(0, 1), values)


def rcb4_position(rng):
    return m.MoveServos(rng.randint(1, 255), tuple(Move(s, rng.randint(3500, 11500)) for s in KHR3_SERVOS))


def rcb1_is_possible(reply):
    fields = COMMANDS[reply.code].reply or ()
    return all(field.allows(value) for field, value in zip(fields, reply.values, strict=True))


class Board(NamedTuple):
    """A codec, what it is fed with, and figures of its protocol."""

    codec: object
    commands: st.SearchStrategy
    exchanges: st.SearchStrategy
    questions: tuple  # whose replies are looked for in noise
    position: object  # a random command for all servos
    is_possible: object
    longest: int  # frame [bytes]
    modulus: int  # of the sum: a change by a multiple of it is not seen


BOARDS = {
    "rcb1": Board(
        rcb1,
        rcb1_commands(),
        rcb1_exchanges(),
        (Rcb1Command(Rcb1Code.GET_POSITIONS, 0), Rcb1Command(Rcb1Code.GET_ID)),
        rcb1_position,
        rcb1_is_possible,
        16,
        128,
    ),
    "rcb4": Board(
        rcb4,
        rcb4_commands,
        rcb4_exchanges(),
        (m.ReadRam(0x92, 186), m.Version(), m.AckCheck()),
        rcb4_position,
        lambda reply: True,
        255,
        256,
    ),
}
EACH = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)


DOCUMENTED = [
    (rcb1, "FF 5A 02 5B", Rcb1Command(Rcb1Code.SET_ID, 2)),
    (rcb1, "FE 7E", Rcb1Command(Rcb1Code.GET_ID)),
    (rcb1, "FC 00 7C", Rcb1Command(Rcb1Code.GET_POSITIONS, 0)),
    (rcb1, "FC 01 7D", Rcb1Command(Rcb1Code.GET_POSITIONS, 1)),
    (rcb1, "FA 00 7A", Rcb1Command(Rcb1Code.GET_HOME, 0)),
    (rcb1, "FD 00 04" + " 5A" * 12 + " 39", Rcb1Command(Rcb1Code.SET_POSITIONS, 0, (4, *[90] * 12))),
    (rcb4, "04 FE 06 08", m.AckCheck()),  # docs/kondo_hardware.md
    (rcb4, "03 FD 00", m.Version()),
    (rcb4, "0A 00 20 00 00 00 00 00 02 2C", m.ReadRam(0x0000, 2)),
    (rcb4, "0A 00 20 00 00 00 22 00 02 4E", m.ReadRam(0x0022, 2)),
    (rcb4, "09 00 02 00 00 00 0B 80 96", m.WriteRam(0x0000, bytes((0x0B, 0x80)))),
    (rcb4, HEART_TO_HEART_4, m.MoveServos(12, (Move(0, 0x1DC4), *(Move(one, 7500) for one in KHR3_SERVOS[1:])))),
]
REPLIES = [
    (rcb1, Rcb1Command(Rcb1Code.GET_ID), "00 00", rcb1.Rcb1Reply(Rcb1Code.GET_ID, 0)),
    (rcb1, Rcb1Command(Rcb1Code.SET_POSITIONS, 0, (4, *[90] * 12)), "00 06", rcb1.Rcb1Reply(Rcb1Code.SET_POSITIONS, 0)),
    (rcb4, m.AckCheck(), "04 FE 06 08", rcb4.Rcb4Reply(Rcb4Code.ACK_CHECK)),
    (rcb4, m.AckCheck(), "04 FE 15 17", rcb4.Rcb4Reply(Rcb4Code.ACK_CHECK, is_ack=False)),
]


def test_documented_frames_are_encoded_and_decoded_byte_for_byte():
    for codec, text, command in DOCUMENTED:
        assert codec.encode_command(command) == bytes.fromhex(text)
        assert codec.decode_command(bytes.fromhex(text)) == command
    for codec, command, text, reply in REPLIES:
        assert codec.decode_reply(command, bytes.fromhex(text)) == reply
        assert codec.encode_reply(reply) == bytes.fromhex(text)


def test_all_commands_of_the_rcb1_have_their_documented_lengths():
    assert set(COMMANDS) == set(RCB1_LENGTHS)
    for code, lengths in RCB1_LENGTHS.items():
        kind = COMMANDS[code]
        command = Rcb1Command(kind.code, 3 if kind.names_board else NO_BOARD, tuple(f.lowest for f in kind.fields))
        reply = rcb1.Rcb1Reply(kind.code, 3, tuple(f.lowest for f in kind.reply or ()))
        assert (kind.length, kind.reply_length) == lengths
        assert (len(rcb1.encode_command(command)), len(rcb1.encode_reply(reply))) == lengths


def test_numbers_of_the_rcb4_are_those_of_the_documents():
    assert (counts_of_angle(0), counts_of_angle(-135), counts_of_angle(135)) == (7500, 3500, 11500)
    assert angle_of_counts(7500 + 29.63) == pytest.approx(1.0, abs=1e-4)
    assert m.device_address(0) == 0x90
    assert m.device_address(35, 4) == 0x0350  # where the buttons of the remote control are
    assert [int(one) for one in Config] == [0x0001, 0x0002, 0x0004, 0x0008]
    assert (m.TRIM, m.MEASURED, m.TARGET, m.FRAME) == (2, 4, 6, 8)
    assert [int(one) for one in Rcb4Code] == [0x00, 0x10, 0xFD, 0xFE]


@EACH
@given(data=st.data())
def test_every_command_and_every_reply_come_back_from_their_bytes(board, data):
    command, reply = data.draw(board.exchanges)
    sent = board.codec.encode_command(command)
    assert board.codec.decode_command(sent) == command
    assert board.codec is rcb1 or sent[0] == len(sent)
    frame = board.codec.encode_reply(reply)
    assert board.codec.decode_reply(command, frame) == reply
    assert board.codec.reply_parser(command).feed(frame) == [reply]


@EACH
@given(data=st.data(), rng=st.randoms(use_true_random=False))
def test_commands_come_out_whole_however_their_bytes_are_cut(board, data, rng):
    parser, found = board.codec.command_parser(), []
    wanted = data.draw(st.lists(board.commands, min_size=1, max_size=4))
    stream = b"".join(map(board.codec.encode_command, wanted))
    while stream:
        size = rng.randint(1, 9)
        found += parser.feed(stream[:size])
        stream = stream[size:]
    assert found == wanted
    assert (parser.refused, parser.waiting) == (0, 0)


@EACH
@given(data=st.data())
def test_a_frame_with_one_wrong_byte_that_its_checksum_sees_is_refused(board, data):
    command, reply = data.draw(board.exchanges)
    change = data.draw(st.integers(1, 255).filter(lambda one: one % board.modulus))
    for good, decode in (
        (board.codec.encode_command(command), board.codec.decode_command),
        (board.codec.encode_reply(reply), lambda frame: board.codec.decode_reply(command, frame)),
    ):
        frame, place = bytearray(good), data.draw(st.integers(0, len(good) - 1))
        frame[place] = (frame[place] + change) % 256
        found = decode(bytes(frame))
        # a command's first byte says what is expected; a question to any board takes the reply of any
        is_other = board.codec is rcb1 and (place == 0 or command.board == NO_BOARD)
        assert found is None or (is_other and found not in (command, reply))


def test_the_reply_of_another_board_or_to_another_command_is_no_reply():
    frame = rcb1.encode_reply(rcb1.Rcb1Reply(Rcb1Code.GET_POSITIONS, 1, (90,) * 12))
    assert all(rcb1.decode_reply(Rcb1Command(Rcb1Code.GET_POSITIONS, board), frame) is None for board in (0, 2))
    for command in (m.AckCheck(), m.Version(), m.ReadRam(0, 1)):
        others = [code for code in Rcb4Code if code != m.code_of(command)]
        assert all(rcb4.decode_reply(command, rcb4.encode_reply(rcb4.Rcb4Reply(code))) is None for code in others)


def test_a_yes_without_the_data_that_were_asked_for_is_no_reply_and_a_no_is():
    question = m.ReadRam(0x92, 2)
    assert rcb4.decode_reply(question, rcb4.with_checksum(bytes((Rcb4Code.MOVE, m.ACK)))) is None
    refused = rcb4.decode_reply(question, rcb4.with_checksum(bytes((Rcb4Code.MOVE, m.NACK))))
    assert refused == rcb4.Rcb4Reply(Rcb4Code.MOVE, is_ack=False)
    assert rcb4.decode_reply(m.AckCheck(), rcb4.with_checksum(bytes((Rcb4Code.ACK_CHECK, 7)))) is None


def test_what_no_command_begins_with_is_not_waited_for():
    for begin in (
        "00", "02",  # shorter than any frame
        "07 01",  # no such command
        "06 FE",  # a length that its command has not
        "08 10",  # too short for servos
        "0B 10 3D F3 3F 00 00",  # too short for positions of the 17 servos of its mask
        "0A 00 03",  # from nowhere to nowhere
        "0B 00 20",  # a question with more than its place and size
        "07 00 02",  # nothing to write
    ):  # fmt: skip
        data, parser = bytes.fromhex(begin), rcb4.command_parser()
        parser.feed(data[:-1])
        assert parser.waiting == len(data) - 1
        parser.feed(data[-1:])
        assert parser.waiting < len(data)


@EACH
@pytest.mark.parametrize("size", [20_000, pytest.param(1_000_000, marks=pytest.mark.fuzz)])
def test_no_bytes_make_the_parsers_fail_or_accept_a_reply_out_of_range(board, size):
    rng, codec = random.Random(size), board.codec
    commands = codec.command_parser()
    for parser in (commands, *map(codec.reply_parser, board.questions)):
        left = size
        while left > 0:
            piece = rng.randbytes(rng.randint(1, 64))
            left -= len(piece)
            found = parser.feed(piece)
            assert parser is commands or all(map(board.is_possible, found))
        assert parser.waiting <= board.longest
    parser, sent, found, left = codec.command_parser(), set(), [], size
    while left > 0:
        command = board.position(rng)
        data = rng.randbytes(rng.choice((0, 0, 0, 1, 3, 9))) + codec.encode_command(command)
        left -= len(data)
        sent.add(command)
        found += parser.feed(data)
    assert len(sent.intersection(found)) > 0.9 * len(sent)  # of commands in noise nearly all are found


def test_a_frame_that_no_board_knows_is_refused_before_the_wire():
    for codec, command, field, value in (
        (rcb1, Rcb1Command(Rcb1Code.SET_POSITIONS, 0, (4, *[90] * 11)), "values", 12),
        (rcb1, Rcb1Command(Rcb1Code.SET_POSITIONS, 32, (0, *[90] * 12)), "board", 32),
        (rcb1, Rcb1Command(Rcb1Code.SET_POSITIONS, -1, (0, *[90] * 12)), "board", -1),
        (rcb1, Rcb1Command(Rcb1Code.GET_ID, 0), "board", 0),
        (rcb4, m.MoveServos(1, (Move(35, 7500),)), "servo", 35),
        (rcb4, m.MoveServos(0, (Move(0, 7500),)), "frame", 0),
        (rcb4, m.MoveServos(256, (Move(0, 7500),)), "frame", 256),
        (rcb4, m.MoveServos(1, (Move(0, 11501),)), "position", 11501),
        (rcb4, m.MoveServos(1, (Move(0, 3499),)), "position", 3499),
        (rcb4, m.MoveServos(1, ()), "servos", []),
        (rcb4, m.MoveServos(1, (Move(3, 7500), Move(3, 7500))), "servos", [3, 3]),
        (rcb4, m.ReadRam(0x48F, 2), "address", 0x48F),
        (rcb4, m.ReadRam(0, 253), "size", 253),
        (rcb4, m.ReadRam(0, 0), "size", 0),
        (rcb4, m.WriteRam(0, bytes(249)), "size", 249),
    ):
        with refused(InputError, field=field, value=value):
            codec.encode_command(command)
    with refused(InputError, field="values", value=1, allowed=0):
        rcb1.encode_reply(rcb1.Rcb1Reply(Rcb1Code.SET_POSITIONS, 0, (1,)))
    with refused(InputError, field="data", value=253):
        rcb4.encode_reply(rcb4.Rcb4Reply(Rcb4Code.MOVE, bytes(253)))


# Least and greatest value of each field, by the names of the table; by KHR1Cmd.py and the reference of 2005.
RCB1_RANGES = {"speed": (0, 7), "channel": (0, 180), "switches": (0, 3)}
RCB1_SPECIAL = (0xDD, 0xDE, 0xDF, 0xE0, 0xE1, 0xE2, 0xFF)  # of channels: free, positions 1 to 3, low, high, Rcb1.cs


@pytest.mark.parametrize("code", RCB1_LENGTHS)
def test_each_field_of_the_rcb1_takes_its_documented_range_and_nothing_beside_it(code):
    kind, board = COMMANDS[code], 31 if COMMANDS[code].names_board else NO_BOARD
    for fields, encode in (
        (kind.fields, lambda values: rcb1.encode_command(Rcb1Command(kind.code, board, values))),
        (kind.reply or (), lambda values: rcb1.encode_reply(rcb1.Rcb1Reply(kind.code, 31, values))),
    ):
        kinds = [field.name.rstrip(" 0123456789") for field in fields]
        numbered = [field.name for field in fields if field.name[-1].isdigit()]
        assert numbered == [f"{kinds[-1]} {i}" for i in range(1, len(numbered) + 1)]
        ranges = [RCB1_RANGES[one] for one in kinds]
        good = [lowest for lowest, _ in ranges]
        for i, (field, (lowest, highest)) in enumerate(zip(fields, ranges, strict=True)):
            special = RCB1_SPECIAL if field.name.startswith("channel") else ()
            for value in (*range(lowest - 2, lowest + 2), *range(highest - 1, highest + 3), *range(0xDB, 0x103)):
                values = (*good[:i], value, *good[i + 1 :])
                if lowest <= value <= highest or value in special:
                    encode(values)
                    continue
                with refused(InputError, field=field.name, value=value):
                    encode(values)
