# SPDX-License-Identifier: Apache-2.0
"""Stops by each way in each state: the last command that moves the arm comes in time, and nothing begins anew."""

import pytest
from peers.stop_table import STATES, WAYS, rows


@pytest.mark.parametrize("way", WAYS)
def test_an_arm_is_stopped_in_every_state_in_time_and_stays_so(way) -> None:
    made = list(rows([way]))
    assert len(made) == len(STATES)
    for row in made:
        assert row.last_motion <= row.limit, row
        assert not row.unsafe, row
