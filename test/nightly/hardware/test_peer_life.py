# SPDX-License-Identifier: Apache-2.0
"""Random life and bad commands against a PA-10 that shares no code with the driver: nothing unsafe on the wire."""

import logging

import pytest
from peers.bad_commands import send
from peers.life import V, live


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.CRITICAL)


@pytest.mark.parametrize("layout", ["ce", "7c"])
def test_however_a_round_of_life_ends_a_documented_action_leads_back(layout):
    life = live(20, 11, layout=layout, modes=(V,))
    assert life.unsafe == []
    assert len(life.phases) >= 2  # rounds end stopped, inactive or active
    assert len(life.actions) >= 15


@pytest.mark.parametrize("seed", [1, 2])
def test_a_life_in_all_modes_breaks_no_rule(seed):
    assert live(40, seed).unsafe == []


@pytest.mark.soak
@pytest.mark.parametrize("layout", ["ce", "7c"])
def test_ten_thousand_rounds_of_life_break_no_rule(layout):
    assert live(5_000, 1, layout=layout).unsafe == []


@pytest.mark.parametrize("layout", ["ce", "7c"])
def test_no_bad_command_moves_the_arm_or_ends_the_cycle(layout):
    tally = send(5_000, 3, layout)
    assert tally.unsafe == []
    assert tally.sent == 5_000
    assert min(tally.by_kind.values()) > 500


@pytest.mark.soak
def test_no_bad_command_of_a_million_moves_the_arm_or_ends_the_cycle():
    assert send(1_000_000, 4).unsafe == []
