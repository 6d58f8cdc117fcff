# SPDX-License-Identifier: Apache-2.0
"""A reading that no servo can have reached is put aside, until another one agrees with it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_hardware.plausible import PlausibleReadings


def test_the_first_reading_and_one_after_a_pause_are_believed_when_a_second_one_agrees():
    readings = PlausibleReadings(speed=100.0, slack=5.0, longest=0.25)
    assert not readings.take(np.array([90.0, 10.0]), 0.0)
    assert readings.believed is None
    assert not readings.take(np.array([90.0, 138.0]), 0.05)  # 128: a flipped bit
    assert not readings.take(np.array([90.0, 10.0]), 0.10)  # which of the two was wrong is not known
    assert readings.take(np.array([91.0, 9.0]), 0.15)
    np.testing.assert_array_equal(readings.believed, [91.0, 9.0])
    assert not readings.take(np.array([91.0, 9.0]), 1.0)
    assert readings.take(np.array([91.0, 9.0]), 1.05)
    readings.forget()
    assert not readings.take(np.array([91.0, 9.0]), 1.1)


@pytest.mark.parametrize(("step", "is_believed"), [(10.0, True), (10.1, False), (-10.0, True), (128.0, False)])
def test_a_way_is_believed_up_to_the_servo_s_speed_and_what_readings_are_wrong_by(step, is_believed):
    readings = PlausibleReadings(speed=100.0, slack=5.0, longest=0.25)
    for time in (0.0, 0.05):
        readings.take(np.array([50.0]), time)
    assert readings.take(np.array([50.0 + step]), 0.10) is is_believed
    assert readings.refused == (not is_believed)


@given(st.lists(st.floats(-300.0, 300.0), min_size=2, max_size=50), st.integers(0, 1 << 50))
def test_flips_that_come_one_at_a_time_are_never_believed(speeds, where):
    """A servo turns as fast as it can at the most; every now and then, never twice in a row, a bit flips."""
    readings, angle, was_flipped = PlausibleReadings(speed=300.0, slack=5.0, longest=0.25), 90.0, True
    for i, speed in enumerate([0.0, 0.0, *speeds]):
        angle += speed * 0.05
        is_flipped = not was_flipped and i > 1 and bool(where >> (i % 50) & 1)
        told = angle + (128.0 if is_flipped else 0.0)
        is_believed = readings.take(np.array([told]), 0.05 * i)
        assert not (is_flipped and is_believed)
        was_flipped = is_flipped
    if readings.believed is not None:
        assert abs(readings.believed[0] - angle) <= 300.0 * 0.05 + 1e-9
