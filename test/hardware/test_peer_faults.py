# SPDX-License-Identifier: Apache-2.0
"""Faults against devices that share no code with drivers and emulators, judged on what reaches the wire."""

import logging

import pytest
from peers.faults_table import FAULTS

TRIALS = 4


def listed(*, cheap):
    return [pytest.param(fault, id=fault.name) for fault in FAULTS if fault.is_cheap is cheap]


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.CRITICAL)  # a fault's traceback says nothing about the test


@pytest.mark.parametrize("fault", listed(cheap=True))
def test_a_fault_leads_to_nothing_unsafe_and_there_is_a_way_back(fault):
    assert fault.run(0).unsafe == []


@pytest.mark.parametrize("number", range(TRIALS))
@pytest.mark.parametrize(
    "fault", ["a position jumps by 0.5 rad, position ce", "answers: bits wrong in every payload, velocity ce"]
)
def test_a_stop_that_a_wrong_answer_causes_is_gentle_whichever_way_the_arm_goes(fault, number):
    assert next(one for one in FAULTS if one.name == fault).run(number).unsafe == []


@pytest.mark.soak
@pytest.mark.parametrize("fault", listed(cheap=False))
def test_every_fault_leads_to_nothing_unsafe_whichever_way_the_arm_goes(fault):
    assert [text for number in range(TRIALS) for text in fault.run(number).unsafe] == []


def test_the_tables_rows_have_names_of_their_own():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
