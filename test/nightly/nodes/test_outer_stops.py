# SPDX-License-Identifier: Apache-2.0
"""Stops from outer interfaces for real: a node over DDS, and a program, by the clock on the wall."""

from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")

from outer.table import LED, end_scene, rows

pytestmark = pytest.mark.ros


@pytest.fixture(scope="module", autouse=True)
def no_scene_stays() -> Iterator[None]:
    yield
    end_scene()


@pytest.mark.parametrize("way", ["service ~/stop", "program: Robot.stop", "kill -9 of program"])
def test_an_arm_is_stopped_in_time_at_rest_and_in_motion_and_stays_so(way) -> None:
    made = list(rows([way], ["armed, at rest", "moving"]))
    assert [row.state for row in made] == ["armed, at rest", "moving"]
    for row in made:
        assert not row.problems, row


@pytest.mark.slow
@pytest.mark.parametrize("way", ["page: STOP touched", "page: browser frozen"])
def test_an_arm_that_a_page_leads_is_stopped_in_time_and_stays_so(way) -> None:
    (row,) = rows([way], [LED])
    if row.left_out:
        pytest.skip(row.left_out)
    assert not row.problems, row
