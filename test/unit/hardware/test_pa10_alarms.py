# SPDX-License-Identifier: Apache-2.0
"""Status words of the PA-10: each documented code and bit, one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_hardware.pa10.alarms import AXIS_ALARMS, CONTROLLER_ALARMS, alarm_of, alarms, is_only_silence, switches


def table(text):
    """Code and a word of its meaning, of docs/pa10_hardware.md."""
    return {int(entry[:3], 16): entry[4:] for entry in text.split("; ")}


OF_AXES = table(
    "010 shared memory; 020 EEPROM; 050 processor; 060 speed differs; 070 resolvers; 080 position; 090 motor torque; "
    "0A0 IPM; 0B0 brake is short; 0C0 resolver at the motor; 0D0 resolver at the gear; 0E0 current; 0F0 too fast; "
    "100 unknown; 110 emergency stop; 120 dead-man; 130 limit switch; FF0 no packet"
)
OF_CONTROLLER = table(
    "020 EEPROM; 030 ARCNET; 040 processor; 050 no packet; 060 too hot; 070 100 V; 100 unknown; 110 emergency stop; "
    "120 dead-man; 130 limit switch"
)
JOINTS = ("s1", "s2", "s3", "e1", "e2", "w1", "w2")


@pytest.mark.parametrize(("code", "words"), OF_AXES.items())
def test_each_documented_alarm_of_an_axis_is_told_in_words_with_what_to_do(code, words):
    alarm = alarm_of(0xC003 | code, AXIS_ALARMS, "e1")
    assert (alarm.code, alarm.joint) == (code, "e1")
    assert words in alarm.text
    assert len(alarm.text.split("; ", 1)[1]) > 10  # a remedy
    assert alarm.is_stop == (code in (0x110, 0x120, 0x130))


@pytest.mark.parametrize(("code", "words"), OF_CONTROLLER.items())
def test_each_documented_alarm_of_the_controller_is_told_in_words(code, words):
    alarm = alarm_of(0x700F | code, CONTROLLER_ALARMS)
    assert (alarm.code, alarm.joint) == (code, "")
    assert words in alarm.text


@given(st.integers(0, 0xFFFF))
def test_any_word_has_one_alarm_or_none(word):
    alarm = alarm_of(word, AXIS_ALARMS, "s1")
    assert (alarm is None) == ((word & 0x0FF0) == 0)
    if alarm is not None and alarm.code not in OF_AXES:
        assert "not documented" in alarm.text
        assert alarm.is_stop  # who does not know what it is does not go on


def test_what_all_axes_and_the_controller_say_alike_is_told_once():
    found = alarms((0xC110,) * 7, 0x4110, JOINTS)
    assert len(found) == 1
    assert found[0].joint == ""
    assert found[0].is_stop
    found = alarms((0xCFF0,) * 7, 0x4050, JOINTS)
    assert len(found) == 1


def test_switches_are_told_as_they_stand():
    assert switches(0x200D) == {
        "dead-man switch held": 1.0,
        "emergency stop released": 1.0,
        "limit switch free": 1.0,
        "motor power on": 1.0,
        "power supply too warm": 0.0,
        "teaching switch on": 0.0,
    }
    assert switches(0x1002)["power supply too warm"] == 1.0
    assert switches(0x1002)["emergency stop released"] == 0.0


@pytest.mark.parametrize(
    ("axes", "controller", "expected"),
    [
        ((0xCFF0,) * 7, 0x4050, True),
        ((0xCFF0,) * 7, 0x4000, True),
        ((0xC000,) * 7, 0x4050, True),
        ((0xC000,) * 7, 0x4000, False),
        ((0xCFF0,) * 6 + (0xC060,), 0x4050, False),
        ((0xCFF0,) * 7, 0x4110, False),
    ],
)
def test_silence_of_the_host_is_told_from_what_is_wrong_with_the_arm(axes, controller, expected):
    assert is_only_silence(axes, controller) == expected
