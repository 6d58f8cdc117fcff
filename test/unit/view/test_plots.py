# SPDX-License-Identifier: Apache-2.0
"""Figures, snapshots and animations: what is in them, that the files can be read, and what is refused."""

import html
import re

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.check.report import CheckFinding, CheckReport

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
Image = pytest.importorskip("PIL.Image", reason="pillow is not installed")

from ada_dynamics import Builder, Simulation, load  # noqa: E402
from ada_dynamics.drawing.animate import animate  # noqa: E402
from ada_dynamics.drawing.panels import PANELS, Curve, Panel, panels_of  # noqa: E402
from ada_dynamics.drawing.plots import figure_of, panels_for, plot_log  # noqa: E402
from ada_dynamics.drawing.robot_drawing import RobotDrawing  # noqa: E402
from ada_dynamics.drawing.snapshots import plot_snapshots  # noqa: E402
from ada_dynamics.errors import InputError  # noqa: E402
from ada_dynamics.model import planar_chain  # noqa: E402
from ada_dynamics.model.elements import Shape  # noqa: E402
from ada_dynamics.robots.mechanisms import four_bar  # noqa: E402
from ada_dynamics.simulation.log import ContactFrame, Log  # noqa: E402

N = 31
T = np.linspace(0.0, 0.3, N)


def arm_log():
    model = planar_chain(2)
    v = np.tile([2.0, -1.0], (N, 1))
    return Log(model, T, T[:, None] * v + [0.3, 0.8], v, np.zeros_like(v), 0.5 * v)


def rhombus_log():
    model, _ = four_bar()
    crank = 1.0 + 5.0 * T
    q = np.column_stack([crank, 0.5 * np.pi - crank, crank + 0.5 * np.pi])
    v = np.tile([5.0, -5.0, 5.0], (N, 1))
    return Log(model, T, q, v, 0 * v, 0 * v, singular=[0.114])


def body_log():
    """A floating body with shapes, on two contacts, that moves in space."""
    kinds = {"box": (0.1, 0.2, 0.3), "sphere": (0.1,), "cylinder": (0.05, 0.3), "capsule": (0.05, 0.2)}
    shapes = [Shape(kind, size, xyz=(0.2 * i, 0, 0)) for i, (kind, size) in enumerate(kinds.items())]
    shapes.append(Shape("mesh", mesh="nowhere.stl"))
    builder = Builder("walker").link("trunk", 1.0, inertia=(0.1, 0.1, 0.1), visuals=shapes)
    builder.link("foot", 0.5, (0.05, 0.05, -0.1), (0.1, 0.1, 0.1))
    builder.joint("ankle", "revolute", "trunk", "foot", (0, 0, -0.3), axis=(0, 1, 0))
    builder.link("slider", 0.5, inertia=(0.1, 0.1, 0.1))
    builder.joint("slide", "prismatic", "trunk", "slider", (-0.3, 0, 0.3), axis=(0, 0, 1))
    model = builder.build("floating")
    q, v = np.tile(model.neutral(), (N, 1)), np.zeros((N, model.nv))
    q[:, 0], q[:, 1], v[:, 0], v[:, 1], v[:, 5] = T, 0.5 * T, 1.0, 0.5, 0.1
    load = np.zeros((N, 6))
    load[:, 2] = 9.81
    frames = {side: ContactFrame("foot", (0.0, y, -0.1)) for side, y in (("left", 0.1), ("right", -0.1))}
    contacts = {"left": load, "right": 0.5 * load}
    push = {"trunk": np.outer(np.sin(10 * T), [1.0, 0, 0, 0, 0, 0.2])}
    given = {"external": push, "contact_wrenches": contacts, "contact_frames": frames}
    return Log(model, T, q, v, 0 * v, 0 * v, **given)


@pytest.fixture(scope="module")
def arm():
    return arm_log()


def pixels(path):
    """The picture as an array, which must not be of one colour."""
    picture = np.asarray(Image.open(path).convert("RGB"))
    assert picture.std() > 3.0
    return picture


def test_the_determinant_of_the_rhombus_is_its_closed_form():
    log = rhombus_log()
    (panel,) = panels_of(log, ["singularity"])
    np.testing.assert_allclose(panel.curves[0].y, 4.0 * np.cos(log.q[:, 0]) ** 2, atol=1e-12)


def test_every_named_panel_can_be_drawn_where_the_robot_has_it(tmp_path):
    drawn = []
    log = body_log()
    for name in PANELS:
        try:
            drawn += panels_of(log, [name])
        except InputError as error:
            assert (error.field, error.value) == ("panels", name)
            assert name in ("loop_gap", "singularity", "trunk_angles", "fixed_feet_zmp")
    assert len(drawn) >= 25
    some = [*drawn[::5], *(p for p in drawn if p.is_plane or p.is_logarithmic)]
    figure_of(some, tmp_path / "some.png", columns=4)
    pixels(tmp_path / "some.png")


def test_a_link_s_position_and_velocity_are_those_of_a_pendulum():
    log = Simulation(load("planar_3r"), np.array([np.pi / 2, 0.0, 0.0]), step=1e-3).run(0.2)
    position, velocity = panels_of(log, ["link_position:link_2", "link_velocity:link_2"])
    x, y, z = (series.y for series in position.curves)
    angle, rate = log.q[:, 0], log.v[:, 0]
    np.testing.assert_allclose([x, y, z], [np.sin(angle), 0.0 * angle, np.cos(angle)], atol=1e-12)
    np.testing.assert_allclose(velocity.curves[0].y, np.cos(angle) * rate, atol=1e-12)
    assert [series.label for series in position.curves] == ["x", "y", "z"]


@pytest.mark.parametrize(
    "draw",
    [
        lambda log: panels_of(log, ["positon"]),
        lambda log: panels_of(log, ["loop_gap"]),
        lambda log: panels_of(log, ["link_position:hand"]),
        lambda log: Curve("a", [1.0, 2.0], [1.0]),
        lambda log: figure_of([Panel.of("a", "[m]", T, {"x": T})], columns=0),
        lambda log: log.plot(joints=["joint_9"]),
        lambda log: log.plot(joints="joint_1"),
        lambda log: plot_log(log, "/nowhere/a.png", ["energy"]),
        lambda log: plot_snapshots(log, times=[0.1, 9.0]),
        lambda log: plot_snapshots(log, count=0),
        lambda log: animate(log[:0], "a.gif"),
        lambda log: animate(log, "a.avi"),
        lambda log: animate(log, "a.gif", fps=0.0),
        lambda log: animate(log, "a.png", at=5.0),
        lambda log: animate(log, "a.png", trace=("no_link", (0, 0, 0))),
        lambda log: animate(log, "nowhere/a.gif"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(arm, draw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        draw(arm)
    assert not any(tmp_path.iterdir())


def test_long_curves_are_drawn_with_their_peaks(tmp_path):
    t = np.linspace(0.0, 1.0, 500_000)
    y = np.sin(7.0 * t)
    y[123_456], y[400_000] = 50.0, -60.0
    figure_of([Panel.of("Peaks", "[m]", t, {"": y})], tmp_path / "peaks.png")
    picture = pixels(tmp_path / "peaks.png").astype(int)
    rows = np.flatnonzero((picture[..., 2] - picture[..., 0] > 60).any(axis=1))
    assert np.ptp(rows) > 0.6 * len(picture)


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_the_same_figure_is_the_same_file(arm, tmp_path, ending):
    files = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for file in files:
        arm.plot(file, ["position", "energy"])
    first, second = (file.read_bytes() for file in files)
    assert first == second and len(first) > 5000


def test_sticks_end_where_the_links_are(arm):
    pose = RobotDrawing(arm.dynamics).at(np.array([0.5 * np.pi, 0.0]))
    (first,) = [line for line in pose.sticks if line.link == "link_1"]
    (tip,) = pose.tips
    np.testing.assert_allclose([first.start, first.end, tip.end], [[0, 0, 0], [1, 0, 0], [1.5, 0, 0]], atol=1e-15)


@pytest.mark.parametrize("plane", ["xz", "yz", "xy", "3d"])
def test_every_view_draws_shapes_and_sticks(plane, tmp_path):
    plot_snapshots(body_log(), tmp_path / "v.png", count=2, plane=plane)
    # the shapes are grey, sticks are blue
    picture = pixels(tmp_path / "v.png").astype(int)
    assert ((picture[..., 2] - picture[..., 0]) > 60).any()
    assert (np.ptp(picture, axis=2) < 12)[(picture.mean(axis=2) < 200) & (picture.mean(axis=2) > 100)].any()


def test_a_gif_has_the_frames_of_its_time_and_they_differ(arm, tmp_path):
    seen = []
    file = animate(arm, tmp_path / "a.gif", fps=20.0, progress=lambda share, text: seen.append(share))
    picture = Image.open(file)
    assert picture.n_frames == 7 and picture.info["duration"] == 50
    frames = []
    for i in range(7):
        picture.seek(i)
        frames.append(np.asarray(picture.convert("RGB")).astype(int))
    assert np.abs(frames[0] - frames[-1]).max() > 100
    assert seen == [pytest.approx((i + 1) / 7) for i in range(7)]


def html_of(thing):
    return getattr(thing, "_repr_html_")()  # noqa: B009


def words_of(thing):
    """Texts between the tags of a page, as they are seen."""
    return [html.unescape(text).strip() for text in re.split(r"<[^>]+>", html_of(thing))]


@pytest.fixture(scope="module")
def five_bar():
    return mechanisms.five_bar()


def test_a_model_shows_its_joints_its_loops_and_a_picture(five_bar):
    pytest.importorskip("matplotlib")
    model, _ = five_bar
    words = words_of(model)
    assert {*model.joints, *model.loops} <= {*words}
    assert words.count("motor") == len(model.actuated)
    assert "<svg" in html_of(model)


def test_an_assembled_pose_shows_its_report_and_what_is_computed_of_it_does_not(five_bar):
    model, _ = five_bar
    q = ada.close_loops(model)
    words = words_of(q)
    assert set(q.report().splitlines()) <= set(words)
    assert html_of(q[:1]) is None
    assert type(2.0 * q) is np.ndarray


def test_findings_are_shown_in_words_that_html_does_not_take_for_tags():
    report = CheckReport(
        "arm.urdf", "arm", [CheckFinding("odd", "warning", "link <a>", "its mass is <0.", "Give it one.", 7)]
    )
    words = words_of(report)
    assert {"link <a>", "its mass is <0. Give it one.", "7"} <= {*words}
    assert any("0 errors, 1 warning, 0 notes" in text for text in words)


def test_a_film_shows_the_path_of_a_point_and_the_forces_of_joints(tmp_path):
    from PIL import Image

    log = ada.Simulation(ada.load("four_bar"), step=1e-2).run(0.3)
    red = []
    looks = {"plain": {}, "traced": {"trace": ("link_2", (0.0, 0.0, 0.5))}, "forces": {"forces": True}}
    for name, look in looks.items():
        animate(log, tmp_path / f"{name}.png", **look)
        pixels = np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB")).astype(int)
        red.append(((pixels[..., 0] > 180) & (pixels[..., 1:].max(axis=-1) < 90)).sum())
    assert red[0] == 0 and min(red[1:]) > 20


def test_forces_of_joints_are_drawn_without_their_indeterminate_components():
    log = ada.Simulation(ada.load("scissor_lift"), step=1e-2).run(0.1)
    assert panels_for(log)  # the angles of loop joints, too
    force, moment = panels_of(log, ["joint_force", "joint_moment"])
    wrench, unique = log.wrenches["cross_1"], log.wrenches_unique["cross_1"]
    curve = next(series for series in force.curves if series.label == "cross_1")
    np.testing.assert_allclose(curve.y, np.linalg.norm((wrench * unique)[:, :3], axis=1))
    assert force.note and not unique.all() and moment.ylabel == "[N m]"
