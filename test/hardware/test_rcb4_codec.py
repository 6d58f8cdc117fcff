# SPDX-License-Identifier: Apache-2.0
"""Bytes of the RCB-4: the documented frames, round trips, damage, noise."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.errors import InputError
from ada_hardware.kondo.rcb4 import messages as m
from ada_hardware.kondo.rcb4.codec import (
    CommandParser,
    Reply,
    ReplyParser,
    data_length,
    decode_command,
    decode_reply,
    encode_command,
    encode_reply,
)
from ada_hardware.kondo.rcb4.commands import (
    FREE,
    HOLD,
    Code,
    Move,
    angle_of_counts,
    counts_of_angle,
    device_address,
    motion_address,
)

# A position of a KHR-3HV's 17 servos in 12 frames, as HeartToHeart4 has written it into a motion file
# (sunilgora/xml-Kondo-khr3hv, run2genxml.py): an encoding by the maker's own program. Only the neck
# is not at its centre.
HEART_TO_HEART_4 = "2B 10 3D F3 3F 00 00 0C C4 1D" + " 4C 1D" * 16 + " 27"
KHR3_SERVOS = (0, 2, 3, 4, 5, 8, 9, *range(12, 22))

VECTORS = [
    ("04 FE 06 08", m.AckCheck()),  # docs/kondo_hardware.md
    ("03 FD 00", m.Version()),
    ("0A 00 20 00 00 00 00 00 02 2C", m.ReadRam(0x0000, 2)),
    ("0A 00 20 00 00 00 22 00 02 4E", m.ReadRam(0x0022, 2)),
    ("09 00 02 00 00 00 0B 80 96", m.WriteRam(0x0000, bytes((0x0B, 0x80)))),
    ("07 0C 80 0B 00 00 9E", m.Call(0x0B80)),
    ("07 0F 02 0A 4C 1D 8B", m.MoveServo(2, 10, 7500)),
    (HEART_TO_HEART_4, m.MoveServos(12, (Move(0, 0x1DC4), *(Move(servo, 7500) for servo in KHR3_SERVOS[1:])))),
]


# --- documents --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "command"), VECTORS, ids=[text[:20] for text, _ in VECTORS])
def test_a_documented_frame_is_encoded_and_decoded_byte_for_byte(text, command):
    frame = bytes.fromhex(text)
    assert encode_command(command) == frame
    assert decode_command(frame) == command


def test_the_acknowledgement_is_the_one_of_the_documents():
    assert encode_reply(Reply(Code.ACK_CHECK)) == bytes.fromhex("04 FE 06 08")
    assert encode_reply(Reply(Code.ACK_CHECK, is_ack=False)) == bytes.fromhex("04 FE 15 17")


def test_positions_places_and_angles_are_those_of_the_documents():
    assert (counts_of_angle(0), counts_of_angle(-135), counts_of_angle(135)) == (7500, 3500, 11500)
    assert angle_of_counts(7500 + 29.63) == pytest.approx(1.0, abs=1e-4)
    assert device_address(0) == 0x90
    assert device_address(35, 4) == 0x0350  # where the buttons of the remote control are
    assert (motion_address(1), motion_address(120)) == (0x0B80, 0x0B80 + 2048 * 119)


@pytest.mark.parametrize(
    ("command", "length"),
    [
        (m.MoveServos(1, tuple(Move(i, HOLD) for i in range(35))), 9 + 70),
        (m.MoveServos(1, (Move(0, FREE), Move(34, 3500))), 9 + 4),
        (m.SetParameter(2, ((0, 127), (34, 1))), 9 + 2),
        (m.WriteRam(0x90, bytes(248)), 255),
        (m.Return(), 3),
    ],
)
def test_frames_have_their_lengths(command, length):
    frame = encode_command(command)
    assert len(frame) == frame[0] == length
    assert decode_command(frame) == command


# --- round trips ------------------------------------------------------------------------------------------------------
positions = st.one_of(st.integers(3500, 11500), st.sampled_from((FREE, HOLD)))
servo_sets = st.sets(st.integers(0, 34), min_size=1).map(sorted)


@st.composite
def commands(draw):
    address, frame, servo = draw(st.integers(0, 0x48F)), draw(st.integers(1, 255)), draw(st.integers(0, 34))
    room = min(0x490 - address, 248)
    servos = draw(servo_sets)
    moves = tuple(Move(s, draw(positions)) for s in servos)
    return draw(
        st.sampled_from(
            (
                m.ReadRam(address, draw(st.integers(1, room))),
                m.WriteRam(address, draw(st.binary(min_size=1, max_size=room))),
                m.Call(draw(st.integers(0, 0x3FFFF)), draw(st.integers(0, 15))),
                m.Return(),
                m.MoveServo(servo, frame, draw(positions)),
                m.MoveServos(frame, moves),
                m.SetParameter(draw(st.integers(1, 4)), tuple((s, draw(st.integers(1, 127))) for s in servos)),
                m.Version(),
                m.AckCheck(),
            )
        )
    )


@st.composite
def exchanges(draw):
    command = draw(commands())
    size = data_length(command)
    if size == 0:
        return command, Reply(m.code_of(command), is_ack=draw(st.booleans()))
    if size is None:
        return command, Reply(Code.VERSION, draw(st.binary(min_size=2, max_size=68)))
    return command, Reply(m.code_of(command), draw(st.binary(min_size=size, max_size=size)))


@given(commands())
def test_every_command_comes_back_from_its_bytes(command):
    assert decode_command(encode_command(command)) == command


@given(exchanges())
def test_every_reply_comes_back_from_its_bytes(exchange):
    command, reply = exchange
    assert decode_reply(command, encode_reply(reply)) == reply
    assert ReplyParser(command).feed(encode_reply(reply)) == [reply]


@given(st.lists(commands(), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_commands_come_out_whole_however_their_bytes_are_cut(wanted, rng):
    stream, parser, found = b"".join(map(encode_command, wanted)), CommandParser(), []
    while stream:
        size = rng.randint(1, 9)
        found += parser.feed(stream[:size])
        stream = stream[size:]
    assert found == wanted
    assert (parser.refused, parser.waiting) == (0, 0)


# --- damage -----------------------------------------------------------------------------------------------------------
@given(commands(), st.data())
def test_a_command_with_one_wrong_byte_is_refused(command, data):
    frame = bytearray(encode_command(command))
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != frame[place]))
    assert decode_command(bytes(frame)) is None


@given(exchanges(), st.data())
def test_a_reply_with_one_wrong_byte_is_refused(exchange, data):
    command, reply = exchange
    frame = bytearray(encode_reply(reply))
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != frame[place]))
    assert decode_reply(command, bytes(frame)) is None


@given(commands(), commands())
def test_the_answer_to_another_command_is_none(command, other):
    if m.code_of(command) != m.code_of(other):
        assert decode_reply(command, encode_reply(Reply(m.code_of(other)))) is None


def test_the_next_command_but_one_after_a_damaged_one_is_understood():
    rng = random.Random(5)
    for _ in range(2000):
        three = [
            m.MoveServos(rng.randint(1, 9), tuple(Move(s, rng.randint(3500, 11500)) for s in KHR3_SERVOS))
            for _ in range(3)
        ]
        frames = [encode_command(command) for command in three]
        hit = bytearray(frames[0])
        hit[rng.randrange(len(hit))] ^= 1 << rng.randrange(8)
        cut = rng.randrange(len(hit) + 1)
        parser = CommandParser()
        # a wrong length may reach over what follows; it is over after 255 bytes at the most
        found = parser.feed(bytes(hit[:cut]) + frames[1] + frames[2]) + parser.feed(b"\x00" * 255)
        assert three[2] in found


# --- fuzz -------------------------------------------------------------------------------------------------------------
def fuzz(size, seed):
    rng = random.Random(seed)
    for parser in (
        CommandParser(),
        ReplyParser(m.ReadRam(0x92, 186)),
        ReplyParser(m.Version()),
        ReplyParser(m.Return()),
    ):
        left = size
        while left > 0:
            piece = rng.randbytes(rng.randint(1, 64))
            left -= len(piece)
            for frame in parser.feed(piece):
                assert isinstance(frame, Reply) or not m.fault_of(frame)
        assert parser.waiting <= 255
    parser, sent, found, left = CommandParser(), 0, [], size
    while left > 0:
        noise = rng.randbytes(rng.choice((0, 0, 0, 1, 3, 9)))
        command = m.MoveServos(rng.randint(1, 255), tuple(Move(s, rng.randint(3500, 11500)) for s in KHR3_SERVOS))
        data = noise + encode_command(command)
        left -= len(data)
        sent += 1
        found += parser.feed(data)
    assert len(found) > 0.95 * sent


def test_no_bytes_make_the_parsers_fail_or_accept_a_value_that_there_is_not():
    fuzz(20_000, seed=1)


@pytest.mark.fuzz
def test_a_million_bytes_do_not_either():
    fuzz(1_000_000, seed=2)


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (m.MoveServo(35, 1, 7500), "ICS number 35; there are 0 to 34"),
        (m.MoveServo(0, 0, 7500), "0 frames; allowed are 1 to 255"),
        (m.MoveServo(0, 1, 11501), r"position 11501 of servo 0; allowed are 3500 to 11500, 0x7fff \(hold\), 0x8000"),
        (m.MoveServos(1, ()), "no servos"),
        (m.MoveServos(1, (Move(3, 7500), Move(3, 7500))), r"servos \[3, 3\] do not ascend"),
        (m.MoveServos(1, (Move(36, 7500),)), "ICS number 36"),
        (m.SetParameter(5, ((0, 1),)), r"parameter 5; there are 1 \(STRETCH\), 2 \(SPEED\)"),
        (m.SetParameter(1, ((0, 128),)), "value 128 of servo 0; allowed are 1 to 127"),
        (m.ReadRam(0x48F, 2), "2 bytes at 0x048f; the RAM ends before 0x0490"),
        (m.ReadRam(0, 253), "253 bytes; allowed are 1 to 252"),
        (m.WriteRam(0, bytes(249)), "249 bytes; allowed are 1 to 248"),
        (m.Call(1 << 18), "address 0x40000"),
        (m.Call(0, 16), "condition 16"),
    ],
)
def test_a_command_that_no_board_knows_is_refused_before_the_wire(command, message):
    with pytest.raises(InputError, match=message):
        encode_command(command)


def test_a_reply_that_no_byte_can_count_is_refused():
    with pytest.raises(InputError, match="253 bytes of data"):
        encode_reply(Reply(Code.MOVE, bytes(253)))
