# SPDX-License-Identifier: Apache-2.0
"""Faults, random life and bad commands with devices that share no code with drivers, judged on the wire."""

import logging

import numpy as np
import pytest
from peers.bad_commands import send
from peers.faults_table import FAULTS
from peers.life import V, live
from peers.pa10_body import LIMITS, SPEEDS
from peers.pa10_scene import Pa10Scene

from ada_robot.contract import Mode

TRIALS = 4


def listed(*, cheap):
    return [pytest.param(fault, id=fault.name) for fault in FAULTS if fault.is_cheap is cheap]


def soak(*values):
    return pytest.param(*values, marks=pytest.mark.soak)


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


@pytest.mark.parametrize("mode", [Mode.POSITION, Mode.VELOCITY])
@pytest.mark.parametrize("cut", [0.06, 0.14, 0.46, 0.48])
def test_an_arm_that_hears_nothing_any_more_stays_within_its_limits(mode, cut):
    scene, fastest = Pa10Scene("7c"), np.zeros(7)
    scene.activate()
    fastest[5] = -SPEEDS[5]
    scene.run(1.15, Mode.VELOCITY, 0.3 * fastest)
    start, since = scene.cycle.feedback.position.copy(), scene.now
    ramp = lambda: np.clip(start + 0.5 * fastest * (scene.now - since), -LIMITS, LIMITS)  # noqa: E731
    wanted = ramp if mode is Mode.POSITION else fastest
    scene.run(cut, mode, wanted)
    scene.judge.faulted(scene.now)
    scene.peer.is_deaf = True
    scene.run(0.6, mode, wanted)
    assert scene.judge.unsafe == []
    assert scene.peer.body.q[5] >= -LIMITS[5]


@pytest.mark.soak
@pytest.mark.parametrize("fault", listed(cheap=False))
def test_every_fault_leads_to_nothing_unsafe_whichever_way_the_arm_goes(fault):
    assert [text for number in range(TRIALS) for text in fault.run(number).unsafe] == []


@pytest.mark.parametrize("layout", ["ce", "7c"])
def test_however_a_round_of_life_ends_a_documented_action_leads_back(layout):
    life = live(20, 11, layout=layout, modes=(V,))
    assert life.unsafe == []
    assert len(life.phases) >= 2  # rounds end stopped, inactive or active
    assert len(life.actions) >= 15


@pytest.mark.parametrize(
    ("rounds", "seed", "layout"), [(40, 1, "ce"), (40, 2, "ce"), soak(5_000, 1, "ce"), soak(5_000, 1, "7c")]
)
def test_a_life_in_all_modes_breaks_no_rule(rounds, seed, layout):
    assert live(rounds, seed, layout=layout).unsafe == []


@pytest.mark.parametrize(("count", "seed", "layout"), [(5_000, 3, "ce"), (5_000, 3, "7c"), soak(1_000_000, 4, "ce")])
def test_no_bad_command_moves_the_arm_or_ends_the_cycle(count, seed, layout):
    tally = send(count, seed, layout)
    assert tally.unsafe == []
    assert tally.sent == count
    assert min(tally.by_kind.values()) > count // 10
