# SPDX-License-Identifier: Apache-2.0
"""`ada sim` puts robots that float on the ground, writes pictures and recordings, and says what it did."""

import json

import numpy as np
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


def test_four_corners_carry_a_kilogram_at_a_millisecond(ada):
    import ada_dynamics as lib
    from ada_dynamics.simulation import Contact, ContactPoint, Material

    b = lib.Builder("box")
    b.link("box", mass=1.0, inertia=np.diag([4e-3, 6e-3, 8e-3]))
    model = b.build(base="floating")
    corners = [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]
    points = [ContactPoint(f"corner_{i}", "box", xyz) for i, xyz in enumerate(corners)]
    contact = Contact(points=points, material=Material.for_weight(1.0))
    q = np.array([0.0, 0.0, 0.065, 0.02, 0.03, 0.0, 1.0])
    q[3:] /= np.linalg.norm(q[3:])
    for integrator in ("rkf45", "rk4", "semi_implicit"):
        log = lib.Simulation(model, q, [0.1, 0, 0, 0, 0, 0.5], contact=contact, integrator=integrator).run(2.0)
        assert np.max(np.abs(log.v[-500:])) < 1e-4
        total = sum(wrench[-1, 2] for wrench in log.contact_wrenches.values())
        assert total == pytest.approx(9.81, rel=1e-4)
