# SPDX-License-Identifier: Apache-2.0
"""`ada sim`: closed loops, energy, robots on the ground, pictures and recordings, and what has no motion to show."""

import json

import numpy as np
import pytest

from ada_dynamics import Log
from ada_dynamics.model import planar_chain
from ada_dynamics.robots.mechanisms import four_bar
from ada_dynamics.robots.writers import write
from ada_experiments.motion_measures import rhombus_angle


def test_the_rhombus_swings_as_its_closed_form_says(ada):
    code, out, _ = ada("sim", "four_bar", "--json", "--duration", "1", "--step", "1e-3")
    data = json.loads(out)
    assert code == 0
    # a rule of fourth order: (1 ms · 3.4/s)⁴ is 1e-10
    assert data["states"][-1]["q"][0] == pytest.approx(
        rhombus_angle(1.0, 0.75 * np.pi, (1.0, 1.0, 1.0), 9.81), abs=1e-9
    )
    assert data["energy_drift"] < 1e-10
    assert data["largest_gap"] < 1e-13
    energies = [s["kinetic_energy"] + s["potential_energy"] for s in data["states"]]
    np.testing.assert_allclose(energies, energies[0], rtol=1e-10)


def test_rest_in_a_singular_pose_is_refused_with_the_ways_out(ada):
    flat = (np.pi / 2, 0.0, np.pi)
    code, _, err = ada("sim", "four_bar", "--headless", "--start", *flat)
    assert code == 2
    assert "0.5774" in err  # all rods level: the crank, the coupler and the rocker turn by 1, -1, 1 over √3


def test_a_singular_pose_on_the_way_is_passed_and_reported(ada, tmp_path):
    model, _ = four_bar(masses=(1.0, 2.0, 0.5), offset=0.1)
    (file,) = write(model, tmp_path / "r.urdf", "loop_joint")
    near = np.array([np.pi / 2, 0.0, np.pi]) - 1e-2 * np.array([1.0, -1.0, 1.0])
    _, out, _ = ada("sim", file, "--json", "--duration", "0.2", "--start", *near)
    data = json.loads(out)
    cranks = [s["q"][0] for s in data["states"]]
    assert cranks[0] < np.pi / 2 < cranks[-1]
    levels = [s["q"][0] + s["q"][1] for s in data["states"]]
    np.testing.assert_allclose(levels, np.pi / 2, atol=1e-9)  # the branch on which the coupler stays level
    assert data["energy_drift"] < 1e-8


def test_loops_that_cannot_close_are_refused_with_their_gap(ada, tmp_path):
    (file,) = write(planar_chain(3), tmp_path / "r.urdf", "loop_joint")
    loop = (
        '{"name": "l", "type": "spherical", "parent": {"link": "link_3"}, "child": {"link": "base", "xyz": [9, 0, 0]}}'
    )
    (tmp_path / "l.json").write_text(f'{{"loops": [{loop}]}}', encoding="utf-8")
    code, _, err = ada("sim", file, "--loops", tmp_path / "l.json", "--headless")
    assert code == 2
    assert "'l' by 7 m" in err


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
