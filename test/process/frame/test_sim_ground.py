# SPDX-License-Identifier: Apache-2.0
"""`ada sim` puts robots that float on the ground, writes pictures and recordings, and says what it did."""

import json

import pytest

from ada_dynamics import Log


def test_a_humanoid_stands_on_the_ground_that_it_would_fall_through_without(ada):
    data = json.loads(ada("sim", "khr1", "--json", "--duration", "1")[1])
    assert data["integrator"] == "semi_implicit"
    heights = [state["q"][2] for state in data["states"]]
    assert min(heights) > -0.05  # it goes down, hips between limbs that touch, not through the floor
    free = json.loads(ada("sim", "khr1", "--json", "--duration", "1", "--ground", "off")[1])
    assert free["states"][-1]["q"][2] == pytest.approx(heights[0] - 0.5 * 9.81, abs=0.05)


def test_pictures_films_and_recordings_are_written_by_one_command(ada, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("mcap")
    files = [tmp_path / name for name in ("plot.png", "poses.png", "film.gif", "run.mcap")]
    flags = ("--plot", "--snapshots", "--animate", "--record")
    given = [x for pair in zip(flags, files, strict=True) for x in pair]
    code, _, _ = ada("sim", "closed_4r", "--headless", "--duration", "0.3", *given)
    assert code == 0
    assert all(file.stat().st_size > 1000 for file in files)
    assert len(Log.load(files[-1])) == 301
