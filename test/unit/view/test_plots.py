# SPDX-License-Identifier: Apache-2.0
"""Figures, snapshots and animations: what is in them, that the files can be read, and what is refused."""

import builtins
import json
import subprocess

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
Image = pytest.importorskip("PIL.Image", reason="pillow is not installed")

from ada_dynamics import Builder, Dynamics, Simulation, load  # noqa: E402
from ada_dynamics.analysis.fixed_feet import fixed_feet_of  # noqa: E402
from ada_dynamics.drawing import animate as animation  # noqa: E402
from ada_dynamics.drawing import colours  # noqa: E402
from ada_dynamics.drawing.animate import animate  # noqa: E402
from ada_dynamics.drawing.drawing import Figurine, view_of  # noqa: E402
from ada_dynamics.drawing.panels import Panel, Series, panel_names, panels_of  # noqa: E402
from ada_dynamics.drawing.plots import PANEL_SIZE, default_panels, figure_of, panels_for, plot_log, thinned  # noqa: E402
from ada_dynamics.drawing.snapshots import plot_snapshots  # noqa: E402
from ada_dynamics.drawing.solids import solids_of  # noqa: E402
from ada_dynamics.errors import InputError  # noqa: E402
from ada_dynamics.model import planar_chain  # noqa: E402
from ada_dynamics.model.elements import Shape  # noqa: E402
from ada_dynamics.robots.mechanisms import four_bar  # noqa: E402
from ada_dynamics.simulation.log import ContactFrame, Log  # noqa: E402
from ada_tools import cli  # noqa: E402

N = 31
T = np.linspace(0.0, 0.3, N)


def arm_log():
    """A planar arm that turns at constant rates."""
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


# --- panels ---------------------------------------------------------------------------------------------------------
def test_panels_have_titles_units_and_the_log_s_numbers(arm):
    (angle,), (rate,) = panels_of(arm, ["position"]), panels_of(arm, ["velocity"])
    assert (angle.title, angle.ylabel, angle.xlabel) == ("Joint angle", "[deg]", "Time [s]")
    assert [s.label for s in angle.series] == ["joint_1", "joint_2"]
    np.testing.assert_allclose(angle.series[1].y, np.degrees(arm.q[:, 1]))
    assert (rate.title, rate.ylabel) == ("Joint velocity", "[rad/s]")
    (effort,) = panels_of(arm, ["effort"])
    assert (effort.title, effort.ylabel) == ("Joint torque", "[N m]")


def test_slides_and_the_base_have_panels_of_their_own():
    log = body_log()
    titles = {p.title: p.ylabel for p in panels_of(log, ["position", "velocity", "base_velocity", "base_orientation"])}
    assert titles["Joint position"] == "[m]" and titles["Joint velocity (slides)"] == "[m/s]"
    assert titles["Base velocity"] == "[m/s]" and titles["Base quaternion"] == "[-]"
    (base,) = panels_of(log, ["base_velocity"])
    np.testing.assert_array_equal(base.series[1].y, log.v[:, 1])


def test_energies_add_up(arm):
    kinetic, potential, total = (s.y for s in panels_of(arm, ["energy"])[0].series)
    np.testing.assert_allclose(kinetic + potential, total)
    np.testing.assert_allclose(total, arm.total_energy)


def test_the_determinant_of_the_rhombus_is_its_closed_form():
    log = rhombus_log()
    (panel,) = panels_of(log, ["singularity"])
    np.testing.assert_allclose(panel.series[0].y, 4.0 * np.cos(log.q[:, 0]) ** 2, atol=1e-12)


def test_every_named_panel_can_be_drawn_where_the_robot_has_it(tmp_path):
    drawn = []
    log = body_log()
    for name in panel_names():
        try:
            drawn += panels_of(log, [name])
        except InputError as error:
            assert "nothing to show" in str(error)
            assert name in ("loop_gap", "singularity", "conditioning", "trunk_angles", "fixed_feet_zmp")
    assert len(drawn) >= 25
    some = [*drawn[::5], *(p for p in drawn if p.is_plane or p.is_logarithmic)]
    figure_of(some, tmp_path / "some.png", columns=4, size=(1.6, 1.1))
    pixels(tmp_path / "some.png")


def test_loops_have_panels_of_gap_and_conditioning():
    log = rhombus_log()
    gap, condition = panels_of(log, ["loop_gap", "conditioning"])
    assert gap.is_logarithmic and gap.series[0].y.max() < 1e-14
    assert condition.is_logarithmic and 0.01 < condition.series[0].y.min() < condition.series[0].y.max() < 1.0


def test_a_link_s_position_and_velocity_are_those_of_a_pendulum():
    """A rod that falls from level: its tip goes round at 1 m, (sin θ, 0, cos θ), and as fast as the joint turns."""
    log = Simulation(load("planar_3r"), np.array([np.pi / 2, 0.0, 0.0]), step=1e-3).run(0.2)
    position, velocity = panels_of(log, ["link_position:link_2", "link_velocity:link_2"])
    x, y, z = (series.y for series in position.series)
    angle, rate = log.q[:, 0], log.v[:, 0]
    np.testing.assert_allclose([x, y, z], [np.sin(angle), 0.0 * angle, np.cos(angle)], atol=1e-12)
    np.testing.assert_allclose(velocity.series[0].y, np.cos(angle) * rate, atol=1e-12)
    assert [series.label for series in position.series] == ["x", "y", "z"]
    with pytest.raises(InputError, match="hand"):
        panels_of(log, ["link_position:hand"])


def test_panels_of_fixed_feet_show_the_soles_the_margin_and_the_upper_body():
    model = load("hoap2_standing")
    q = np.zeros(10)
    log = Simulation(model, q, tau=Dynamics(model).inverse(q, q, q)).run(0.005)
    above, margin = panels_of(log, ["fixed_feet_zmp"])
    assert above.is_plane
    assert np.ptp(above.series[1].x) == pytest.approx(0.094)
    assert margin.series[0].y == pytest.approx(fixed_feet_of(log).margin)
    (angles,) = panels_of(log, ["trunk_angles"])
    assert [series.label for series in angles.series] == ["x", "y", "z"]
    assert np.abs(angles.series[2].y).max() < 1e-6


def test_default_panels_suit_the_robot():
    assert default_panels(arm_log()) == ["position", "velocity", "acceleration", "effort", "energy"]
    assert default_panels(rhombus_log())[-1] == "loop_gap"
    assert "base_orientation" in default_panels(body_log())


def test_what_is_no_panel_is_refused_with_its_neighbours(arm):
    with pytest.raises(InputError, match=r"no panel is named 'positon'.*'position'"):
        panels_of(arm, ["positon"])
    with pytest.raises(InputError, match="nothing to show"):
        panels_of(arm, ["loop_gap"])
    with pytest.raises(InputError, match="x of shape"):
        Series("a", [1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="at least one panel"):
        figure_of([])
    with pytest.raises(InputError, match="columns is 0"):
        figure_of([Panel.of("a", "[m]", T, {"x": T})], columns=0)


# --- figures --------------------------------------------------------------------------------------------------------
def test_figures_are_lettered_and_labelled(arm):
    figure = plot_log(arm)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    wanted = ["Joint angle", "Joint velocity", "Joint acceleration", "Joint torque", "Mechanical energy"]
    assert titles == [f"({letter}) {title}" for letter, title in zip("abcde", wanted, strict=True)]
    assert all(axes.get_xlabel() == "Time [s]" and axes.get_ylabel().startswith("[") for axes in figure.axes)
    assert all(axes.get_legend() for axes in figure.axes)


def humanoid_log(joints=29):
    """Joint i turns by i tenths of a radian; its name is as long as those of real humanoids."""
    builder = Builder("humanoid").link("trunk", 1.0, inertia=(0.1, 0.1, 0.1))
    for i in range(joints):
        name = f"left_shoulder_pitch_{i:02d}"
        builder.link(f"link_{i}", 0.1, inertia=(0.01, 0.01, 0.01))
        builder.joint(f"{name}_joint", "revolute", "trunk", f"link_{i}", (0, 0.1 * i, 0), axis=(0, 1, 0))
    model = builder.build("fixed")
    travel = np.array([0.1 * ((7 * i) % joints) for i in range(joints)])
    q, v = np.outer(T / T[-1], travel), np.tile(travel / T[-1], (N, 1))
    return Log(model, T, q, v, 0 * v, 0 * v)


def legend_and_axes(axes):
    """Where both are drawn, in dots."""
    axes.figure.canvas.draw()
    return axes.get_legend().get_window_extent(), axes.get_window_extent()


def test_a_humanoid_s_plot_has_eight_curves_and_legends_that_leave_room_for_them():
    log = humanoid_log()
    figure = plot_log(log)
    most = {log.model.joint_names[i] for i in np.argsort(np.ptp(log.q, axis=0))[-8:]}
    for axes in figure.axes[:4]:
        assert {line.get_label() for line in axes.lines} == most
        assert "8 of 29 joints" in axes.get_title(loc="right")
        legend, inner = legend_and_axes(axes)
        assert legend.x0 >= inner.x1  # outside
        assert legend.x1 <= figure.bbox.x1 and legend.y0 >= 0.0  # on the paper
        assert inner.width > 0.75 * PANEL_SIZE[0] * figure.dpi
        assert inner.height > 0.5 * PANEL_SIZE[1] * figure.dpi


def test_joints_can_be_chosen():
    log = humanoid_log()
    names = [log.model.joint_names[i] for i in (4, 3)]
    figure = log.plot(None, ["position", "velocity", "energy"], joints=names)
    for axes in figure.axes[:2]:
        assert [line.get_label() for line in axes.lines] == names[::-1]  # as in the model
        assert axes.get_title(loc="right") == "2 of 29 joints"
    assert len(figure.axes[2].lines) == 3


def test_a_robot_with_slides_and_turns_shows_the_chosen_joint_where_it_belongs():
    panels = panels_for(body_log(), ["position", "base_position"], joints=["slide"])
    assert [(p.title, len(p.series)) for p in panels] == [("Joint position", 1), ("Base position", 3)]


def test_joints_that_do_not_exist_and_too_many_are_refused():
    log = humanoid_log()
    with pytest.raises(
        InputError, match=r"no joint is named 'left_sholder_pitch_03_joint'.*'left_shoulder_pitch_03_joint'"
    ):
        log.plot(joints=["left_sholder_pitch_03_joint"])
    with pytest.raises(InputError, match="joints has 9 names; a panel shows 1 to 8"):
        log.plot(joints=log.model.joint_names[:9])
    with pytest.raises(InputError, match="give a list of names"):
        log.plot(joints=log.model.joint_names[0])


def test_a_panel_of_many_curves_keeps_those_that_change_most():
    curves = {f"c{i}": i * T for i in range(12)}
    (axes,) = figure_of([Panel.of("Many", "[m]", T, curves)]).axes
    assert [line.get_label() for line in axes.lines] == [f"c{i}" for i in range(4, 12)]
    assert "8 of 12 curves" in axes.get_title(loc="right")


def test_a_lone_panel_has_no_letter():
    figure = figure_of([Panel.of("Force", "[N]", T, {"left": T, "right": -T})])
    assert figure.axes[0].get_title(loc="left") == "Force"


def test_singular_poses_are_marked_on_the_time_axis():
    figure = plot_log(rhombus_log(), panels=["position"])
    marks = [line for line in figure.axes[0].lines if line.get_color() == colours.MARK]
    assert [line.get_xdata()[0] for line in marks] == [0.114]


def test_a_curve_over_another_lets_it_show_through():
    lines = figure_of([Panel.of("Rods", "[rad]", T, {"a": T, "b": 2 * T, "c": T})]).axes[0].lines
    assert [line.get_linestyle() for line in lines] == ["-", "-", "--"]
    assert len({line.get_color() for line in lines}) == 3


def test_rounding_errors_of_a_constant_stay_small_on_paper():
    noise = 1.0 + 1e-15 * np.sin(300 * T)
    low, high = figure_of([Panel.of("Energy", "[J]", T, {"E": noise})]).axes[0].get_ylim()
    assert high - low > 0.05


def test_long_curves_are_thinned_and_keep_their_peaks():
    t = np.linspace(0.0, 1.0, 500_000)
    y = np.sin(7.0 * t)
    y[123_456], y[400_000] = 50.0, -60.0
    x, kept = thinned(t, y)
    assert len(x) <= 4002 and (np.diff(x) > 0.0).all()
    assert (kept.max(), kept.min()) == (50.0, -60.0)
    assert (x[0], x[-1]) == (0.0, 1.0)
    short = thinned(t[:100], y[:100])
    assert short[0] is not None and len(short[0]) == 100


def test_curves_with_gaps_are_drawn(tmp_path):
    y = np.where(T > 0.1, np.nan, T)
    figure_of([Panel.of("Gap", "[m]", T, {"a": y, "b": np.full(N, np.nan)})], tmp_path / "gap.png")
    pixels(tmp_path / "gap.png")


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_the_same_figure_is_the_same_file(arm, tmp_path, ending):
    files = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for file in files:
        arm.plot(file, ["position", "energy"])
    first, second = (file.read_bytes() for file in files)
    assert first == second and len(first) > 5000


def test_files_that_cannot_be_written_are_named(arm, tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        plot_log(arm, tmp_path / "nowhere" / "a.png", ["energy"])
    with pytest.raises(InputError, match="cannot be written"):
        plot_log(arm, tmp_path / "a.docx", ["energy"])


def test_without_matplotlib_the_extra_is_named(arm, monkeypatch):
    original = builtins.__import__

    def missing(name, *rest, **more):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=r"pip install .*\[tools\]"):
        plot_log(arm)


def test_the_user_s_own_style_is_left_alone(arm):
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot_log(arm, panels=["energy"])
    assert dict(matplotlib.rcParams) == before


# --- snapshots ------------------------------------------------------------------------------------------------------
def test_snapshots_are_drawn_over_each_other_and_fade_in(arm, tmp_path):
    figure = plot_snapshots(arm, tmp_path / "s.png", count=5)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "z [m]")
    shades = sorted({line.get_alpha() for line in axes.lines})
    assert len(shades) == 5 and shades[-1] == 1.0
    pixels(tmp_path / "s.png")


def test_sticks_end_where_the_links_are(arm):
    pose = Figurine(arm.dynamics).at(np.array([0.5 * np.pi, 0.0]))
    (first,) = [line for line in pose.sticks if line.link == "link_1"]
    (tip,) = pose.tips
    np.testing.assert_allclose([first.start, first.end, tip.end], [[0, 0, 0], [1, 0, 0], [1.5, 0, 0]], atol=1e-15)


def test_snapshots_side_by_side_carry_their_times(arm):
    figure = plot_snapshots(arm, times=[0.0, 0.1, 0.3], columns=2)
    assert [axes.get_title() for axes in figure.axes] == ["0 s", "0.1 s", "0.3 s"]


def test_planar_robots_are_seen_from_the_side_and_others_in_space(arm):
    poses = [Figurine(arm.dynamics).at(arm.q[i]) for i in (0, 10)]
    assert view_of(poses, None) == "xz"
    log = body_log()
    figurine = Figurine(log.dynamics)
    assert view_of([figurine.at(log.q[0]), figurine.at(log.q[-1])], None) == "3d"


@pytest.mark.parametrize("plane", ["xz", "yz", "xy", "3d"])
def test_every_view_draws_shapes_and_sticks(plane, tmp_path):
    plot_snapshots(body_log(), tmp_path / "v.png", count=2, plane=plane)
    # the shapes are grey, sticks are blue
    picture = pixels(tmp_path / "v.png").astype(int)
    assert ((picture[..., 2] - picture[..., 0]) > 60).any()
    assert (np.ptp(picture, axis=2) < 12)[(picture.mean(axis=2) < 200) & (picture.mean(axis=2) > 100)].any()


def test_solids_have_their_shapes_sizes():
    solids = solids_of(body_log().model)
    assert len(solids) == 4  # a mesh is left out
    for solid, spans in zip(solids, [(0.1, 0.2, 0.3), (0.2,) * 3, (0.1, 0.1, 0.3), (0.1, 0.1, 0.3)], strict=True):
        np.testing.assert_allclose(np.ptp(solid.corners, axis=0), spans, rtol=1e-12)
        assert max(max(face) for face in solid.faces) < len(solid.corners)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"times": [0.1, 9.0]}, "times has 9 s.*from 0 s to 0.3 s"),
        ({"times": []}, "times is empty"),
        ({"count": 0}, "count is 0"),
        ({"plane": "zx"}, "no plane is named 'zx'"),
        ({"columns": 0}, "columns is 0"),
    ],
)
def test_snapshots_of_what_is_not_there_are_refused(arm, more, said):
    with pytest.raises(InputError, match=said):
        plot_snapshots(arm, **more)


# --- animations -----------------------------------------------------------------------------------------------------
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


def test_speed_stretches_time(arm, tmp_path):
    assert Image.open(animate(arm, tmp_path / "slow.gif", fps=20.0, speed=0.5)).n_frames == 13


def test_a_still_is_the_frame_asked_for(arm, tmp_path):
    first, last = (pixels(animate(arm, tmp_path / f"{at}.png", at=at)) for at in (0.0, None))
    assert first.shape == last.shape and (first != last).any()


def test_a_film_has_its_frames(tmp_path):
    try:
        program = animation.ffmpeg()
    except InputError as error:
        pytest.skip(str(error))
    log = body_log()
    file = animate(log, tmp_path / "a.mp4", fps=20.0, dpi=60)
    counted = subprocess.run(
        [program, "-i", str(file), "-f", "null", "-"], capture_output=True, text=True, check=True, timeout=60
    ).stderr
    assert "frame=    7" in counted and "264x264" in counted


def test_without_ffmpeg_the_message_says_what_to_install(arm, tmp_path, monkeypatch):
    original = builtins.__import__

    def missing(name, *rest, **more):
        if name == "imageio_ffmpeg":
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    monkeypatch.setattr(animation.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="apt install ffmpeg"):
        animate(arm, tmp_path / "a.mp4")


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("a.avi", {}, "'a.avi': an animation ends in one of .gif, .mp4, .png"),
        ("a.gif", {"fps": 0.0}, "fps is 0"),
        ("a.gif", {"speed": -1.0}, "speed is -1"),
        ("a.png", {"at": 5.0}, "at is 5 s"),
        ("nowhere/a.gif", {}, "cannot be written"),
        ("a.gif", {"plane": "up"}, "no plane is named"),
    ],
)
def test_animations_that_cannot_be_are_refused(arm, tmp_path, name, more, said):
    with pytest.raises(InputError, match=said):
        animate(arm, tmp_path / name, **more)


def test_empty_logs_are_refused(tmp_path):
    empty = arm_log()[:0]
    for draw in (lambda: plot_snapshots(empty), lambda: animate(empty, tmp_path / "a.gif")):
        with pytest.raises(InputError, match="no rows"):
            draw()


def test_a_motion_of_one_row_is_drawn(tmp_path):
    one = arm_log()[:1]
    assert Image.open(animate(one, tmp_path / "a.gif")).n_frames == 1
    plot_log(one, tmp_path / "a.png")
    pixels(tmp_path / "a.png")


def test_anything_with_states_over_time_can_be_drawn(tmp_path):
    class Plain:
        model = planar_chain(1)
        t, q, v = T, T[:, None], np.ones((N, 1))

    plot_log(Plain(), tmp_path / "p.png", ["position", "energy"])
    plot_snapshots(Plain(), tmp_path / "s.png")
    with pytest.raises(InputError, match="no accelerations"):
        plot_log(Plain(), panels=["acceleration"])


def test_the_sticks_of_ada_sim_are_the_same_ones(capsys):
    assert cli.main(["sim", "four_bar", "--json", "--duration", "0.004"]) == 0
    assert json.loads(capsys.readouterr().out)["robot"] == "four_bar"
    model, q = four_bar()
    assert len(Figurine(Dynamics(model, pose=q)).at(q).sticks) == 5
