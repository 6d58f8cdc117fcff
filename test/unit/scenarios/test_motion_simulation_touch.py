# SPDX-License-Identifier: Apache-2.0
"""What is said of a touch, against forces whose mean and ends are known in closed form."""

import numpy as np
import pytest

from ada_experiments.motion_simulation.passivity import first_touch, smoothed

STEP = 0.002


def test_the_peak_is_that_of_the_mean_over_ten_milliseconds():
    t = STEP * np.arange(500)
    slow, swing = np.sin(np.pi * t), np.sin(2.0 * np.pi * 100.0 * t)  # of 1 N in 1 s, and of 10 ms, five steps
    push = 10.0 * slow + 4.0 * swing
    assert push.max() > 13.5
    assert smoothed(push, STEP).max() == pytest.approx(10.0, rel=1e-3)  # a mean over whole periods of it leaves nothing
    assert len(smoothed(push[:3], STEP)) == 3


def test_a_touch_lasts_over_jumps_and_ends_where_nothing_touches_for_twenty_milliseconds():
    t, push = 1.0 + STEP * np.arange(200), np.zeros(200)
    push[50:60] = push[65:80] = push[120:130] = 1.0
    assert first_touch(t, push, STEP) == pytest.approx((1.0 + 50 * STEP, 1.0 + 80 * STEP))
    assert first_touch(t, np.zeros(200), STEP) is None
    assert first_touch(t[:1], np.ones(1), STEP) == pytest.approx((1.0, 1.0 + STEP))
