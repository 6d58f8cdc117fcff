# SPDX-License-Identifier: Apache-2.0
"""Bytes of the RCB-1: the documented vectors and lengths, round trips, damage, noise."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.errors import InputError
from ada_hardware.kondo.rcb1.codec import (
    NO_BOARD,
    CommandFrame,
    CommandParser,
    Reply,
    ReplyParser,
    decode_command,
    decode_reply,
    encode_command,
    encode_reply,
)
from ada_hardware.kondo.rcb1.commands import COMMANDS, Code

# Command: total length, length of the reply; by RoadNarrows' KHR1Cmd.py, and the partial translation of the reference.
DOCUMENTED = {
    0xFF: (4, 2),
    0xFE: (2, 2),
    0xFD: (16, 2),
    0xFC: (3, 14),
    0xFB: (3, 2),
    0xFA: (3, 14),
    0xF9: (18, 2),
    0xF8: (5, 15),
    0xF7: (5, 2),
    0xF6: (4, 3),
    0xF5: (6, 2),
    0xF4: (5, 3),
    0xF3: (5, 2),
    0xF2: (4, 3),
    0xF1: (4, 2),
    0xF0: (3, 3),
    0xEF: (4, 2),
    0xEE: (4, 2),
    0xED: (7, 2),
    0xEC: (4, 5),
    0xE9: (15, 2),
    0xE8: (3, 14),
}

VECTORS = [
    ("FF 5A 02 5B", CommandFrame(Code.SET_ID, 2)),
    ("FE 7E", CommandFrame(Code.GET_ID)),
    ("FC 00 7C", CommandFrame(Code.GET_POSITIONS, 0)),
    ("FC 01 7D", CommandFrame(Code.GET_POSITIONS, 1)),
    ("FA 00 7A", CommandFrame(Code.GET_HOME, 0)),
    ("EF 00 00 6F", CommandFrame(Code.PLAY_MOTION, 0, (0,))),
    ("FD 00 04" + " 5A" * 12 + " 39", CommandFrame(Code.SET_POSITIONS, 0, (4, *[90] * 12))),
]


def values_of(fields):
    return st.tuples(
        *(st.one_of(st.integers(f.lowest, f.highest), *map(st.just, f.others)) for f in fields),
    )


@st.composite
def commands(draw):
    kind = COMMANDS[draw(st.sampled_from(sorted(COMMANDS)))]
    board = draw(st.integers(0, 31)) if kind.names_board else NO_BOARD
    return CommandFrame(kind.code, board, draw(values_of(kind.fields)))


@st.composite
def exchanges(draw):
    command = draw(commands())
    board = command.board if command.board != NO_BOARD else draw(st.integers(0, 31))
    return command, Reply(command.code, board, draw(values_of(command.kind.reply or ())))


# --- documents --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "command"), VECTORS, ids=[text for text, _ in VECTORS])
def test_a_command_of_the_documents_is_encoded_and_decoded_byte_for_byte(text, command):
    frame = bytes.fromhex(text)
    assert encode_command(command) == frame
    assert decode_command(frame) == command


@pytest.mark.parametrize(
    ("command", "reply", "wanted"),
    [
        (CommandFrame(Code.GET_ID), "00 00", Reply(Code.GET_ID, 0)),
        (CommandFrame(Code.PLAY_MOTION, 0, (0,)), "00 06", Reply(Code.PLAY_MOTION, 0)),
        (CommandFrame(Code.SET_POSITIONS, 0, (4, *[90] * 12)), "00 06", Reply(Code.SET_POSITIONS, 0)),
    ],
)
def test_a_reply_of_the_documents_is_encoded_and_decoded_byte_for_byte(command, reply, wanted):
    assert decode_reply(command, bytes.fromhex(reply)) == wanted
    assert encode_reply(wanted) == bytes.fromhex(reply)


def test_all_documented_commands_and_no_others_have_their_documented_lengths():
    assert {code: (kind.length, kind.reply_length) for code, kind in COMMANDS.items()} == DOCUMENTED


@pytest.mark.parametrize("code", sorted(DOCUMENTED))
def test_bytes_on_the_line_are_as_many_as_documented(code):
    kind = COMMANDS[code]
    command = CommandFrame(kind.code, 3 if kind.names_board else NO_BOARD, tuple(f.lowest for f in kind.fields))
    reply = Reply(kind.code, 3, tuple(f.lowest for f in kind.reply or ()))
    assert (len(encode_command(command)), len(encode_reply(reply))) == DOCUMENTED[code]


# --- round trips ------------------------------------------------------------------------------------------------------
@given(commands())
def test_every_command_comes_back_from_its_bytes(command):
    assert decode_command(encode_command(command)) == command
    assert CommandParser().feed(encode_command(command)) == [command]


@given(exchanges())
def test_every_reply_comes_back_from_its_bytes(exchange):
    command, reply = exchange
    frame = encode_reply(reply)
    assert decode_reply(command, frame) == reply
    assert ReplyParser(command).feed(frame) == [reply]


@given(st.lists(commands(), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_commands_come_out_whole_however_their_bytes_are_cut(wanted, rng):
    stream, parser, found = b"".join(map(encode_command, wanted)), CommandParser(), []
    while stream:
        size = rng.randint(1, 7)
        found += parser.feed(stream[:size])
        stream = stream[size:]
    assert found == wanted
    assert (parser.refused, parser.waiting) == (0, 0)


# --- damage -----------------------------------------------------------------------------------------------------------
@given(commands(), st.data())
def test_a_command_with_one_wrong_byte_that_its_checksum_sees_is_refused(command, data):
    frame = bytearray(encode_command(command))
    place = data.draw(st.integers(1, len(frame) - 1))
    # 128 more or less leaves a sum of seven bits alone; the last byte has only seven
    frame[place] = data.draw(st.integers(0, 255).filter(lambda b: (b - frame[place]) % 128 or place == len(frame) - 1))
    if bytes(frame) != encode_command(command):
        assert decode_command(bytes(frame)) is None


@given(exchanges(), st.data())
def test_a_reply_with_one_wrong_byte_that_its_checksum_sees_is_refused(exchange, data):
    command, reply = exchange
    frame = bytearray(encode_reply(reply))
    place = data.draw(st.integers(0, len(frame) - 1))
    new = data.draw(st.integers(0, 255))
    if (new - frame[place]) % 128 == 0:
        return
    frame[place] = new
    if command.board == NO_BOARD or (command.kind.reply is None and place == 0):
        assert decode_reply(command, bytes(frame)) != reply
    else:
        assert decode_reply(command, bytes(frame)) is None


def test_a_flip_of_the_highest_bit_that_no_checksum_sees_is_refused_where_no_angle_is_so_great():
    command = CommandFrame(Code.GET_POSITIONS, 0)
    good = encode_reply(Reply(Code.GET_POSITIONS, 0, (60,) * 12))
    flipped = good[:3] + bytes((60 | 0x80,)) + good[4:]  # 188 deg
    assert decode_reply(command, flipped) is None


def test_the_reply_of_another_board_is_no_reply():
    frame = encode_reply(Reply(Code.GET_POSITIONS, 1, (90,) * 12))
    assert decode_reply(CommandFrame(Code.GET_POSITIONS, 0), frame) is None


@given(st.binary(max_size=40), exchanges())
def test_of_two_replies_behind_noise_one_is_found(noise, exchange):
    command, reply = exchange
    # the end of the noise and the beginning of the first reply may make a reply together; the second one is found then
    assert reply in ReplyParser(command).feed(noise + 2 * encode_reply(reply))


def test_the_next_command_but_one_after_a_damaged_one_is_understood():
    rng = random.Random(3)
    kinds = [kind for kind in COMMANDS.values() if kind.names_board]
    for _ in range(2000):
        three = [
            CommandFrame(k.code, rng.randint(0, 31), tuple(rng.randint(f.lowest, f.highest) for f in k.fields))
            for k in rng.choices(kinds, k=3)
        ]
        frames = [encode_command(command) for command in three]
        hit = bytearray(frames[0])
        hit[rng.randrange(len(hit))] ^= 1 << rng.randrange(8)
        cut = rng.randrange(len(hit) + 1)
        parser = CommandParser()
        found = parser.feed(bytes(hit[:cut]) + frames[1] + frames[2]) + parser.feed(b"\x00" * 18)
        assert three[2] in found


# --- fuzz -------------------------------------------------------------------------------------------------------------
def fuzz(size, seed):
    """Random bytes: what is accepted is within its ranges. Then frames in noise: nearly all of them are found."""
    rng = random.Random(seed)
    for parser in (
        CommandParser(),
        ReplyParser(CommandFrame(Code.GET_POSITIONS, 0)),
        ReplyParser(CommandFrame(Code.GET_ID)),
    ):
        left = size
        while left > 0:
            piece = rng.randbytes(rng.randint(1, 64))
            left -= len(piece)
            for frame in parser.feed(piece):
                kind = COMMANDS[frame.code]
                fields = kind.fields if isinstance(frame, CommandFrame) else kind.reply or ()
                assert all(field.allows(value) for field, value in zip(fields, frame.values, strict=True))
        assert parser.waiting <= 18
    parser, sent, found, lost = CommandParser(), 0, 0, size
    while lost > 0:
        noise = rng.randbytes(rng.choice((0, 0, 0, 1, 3, 9)))
        command = CommandFrame(
            Code.SET_POSITIONS, rng.randint(0, 1), (rng.randint(0, 7), *rng.choices(range(181), k=12))
        )
        data = noise + encode_command(command)
        lost -= len(data)
        sent += 1
        found += parser.feed(data).count(command)
    assert found > 0.9 * sent


def test_no_bytes_make_the_parsers_fail_or_accept_a_value_out_of_range():
    fuzz(20_000, seed=1)


@pytest.mark.fuzz
def test_a_million_bytes_do_not_either():
    fuzz(1_000_000, seed=2)


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (CommandFrame(Code.SET_POSITIONS, 0, (4, *[90] * 11)), "it has 12 values; it takes 13: speed, channel 1"),
        (CommandFrame(Code.SET_POSITIONS, 0, (8, *[90] * 12)), "speed is 8; allowed are 0 to 7"),
        (
            CommandFrame(Code.SET_POSITIONS, 0, (0, 181, *[90] * 11)),
            "channel 1 is 181; allowed are 0 to 180, or one of 0xdd",
        ),
        (CommandFrame(Code.SET_POSITIONS, 32, (0, *[90] * 12)), "board is 32; allowed are 0 to 31"),
        (CommandFrame(Code.SET_POSITIONS, -1, (0, *[90] * 12)), "board is -1"),
        (CommandFrame(Code.GET_ID, 0), "it names no board; leave out board 0"),
        (CommandFrame(Code.SET_FRAME_COUNT, 0, (40, 1)), "motion is 40; allowed are 0 to 39"),
        (CommandFrame(Code.SET_FRAME_COUNT, 0, (0, 101)), "frames is 101; allowed are 0 to 100"),
        (CommandFrame(Code.SET_TRIMS, 0, (41, *[20] * 11)), "trim 1 is 41; allowed are 0 to 40"),
    ],
)
def test_a_command_that_no_board_knows_is_refused_before_the_wire(command, message):
    with pytest.raises(InputError, match=message):
        encode_command(command)


def test_a_reply_that_no_board_gives_is_refused():
    with pytest.raises(InputError, match="it has 1 values; it takes 0: none"):
        encode_reply(Reply(Code.SET_POSITIONS, 0, (1,)))
