# SPDX-License-Identifier: Apache-2.0
"""What the browser view draws and does: the server is a stand-in, and time is the test's."""

import browser_robots
import numpy as np
import pytest
from browser_robots import pushable, rocker

import ada_dynamics as ada
from ada_dynamics.clock import ManualClock
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.model.elements import Shape
from ada_dynamics.simulation.log import ContactFrame, EventRecord, Log
from ada_tools.browser.demo_page import DEMOS, DemoPage, ServoRobot
from ada_tools.browser.live import LocalRobot, live_page
from ada_tools.browser.overlays import KINDS, inertias
from ada_tools.browser.parts import AROUND, parts_of, unit_solid
from ada_tools.browser.playback import PlaybackPage, Recording
from ada_tools.browser.pose_page import PosePage
from ada_tools.browser.scene import MouseDrag, Scene


@pytest.fixture(scope="module")
def pendulum():
    return browser_robots.pendulum()


@pytest.fixture(scope="module")
def swing(pendulum):
    motion = ada.Simulation(pendulum, np.array([1.0]), step=5e-3).run(1.0)
    return Log(
        pendulum,
        motion.t,
        motion.q,
        motion.v,
        tau=np.zeros_like(motion.v),
        external={"bob": np.tile([3.0, 0, 0, 0, 0, 0], (len(motion.t), 1))},
        contact_wrenches={n: np.tile([0, 0, 5.0, 0, 0, 0], (len(motion.t), 1)) for n in "abc"},
        contact_frames={n: ContactFrame("bob", xyz) for n, xyz in zip("abc", np.eye(3).tolist(), strict=True)},
        events=[EventRecord(0.5, "lowest", motion.q[100], motion.v[100])],
        singular=[0.25],
    )


def volume(surface):
    """By the divergence theorem: positive where the triangles are seen anticlockwise from outside."""
    a, b, c = (surface.vertices[surface.faces[:, i]] for i in range(3))
    return float(np.einsum("ni,ni->", a, np.cross(b, c))) / 6.0


def test_solids_are_closed_surfaces_of_the_right_volume_that_face_outwards():
    around = AROUND
    polygon = 0.5 * around * np.sin(2 * np.pi / around)  # area of the polygon in the unit circle
    assert volume(unit_solid("box")) == pytest.approx(1.0, rel=1e-12)
    assert volume(unit_solid("cylinder")) == pytest.approx(polygon, rel=1e-12)
    assert volume(unit_solid("sphere")) == pytest.approx(4 / 3 * np.pi, rel=0.02)  # its chords cut off 1.6 %


def test_frames_collision_shapes_and_inertias_are_seen_where_they_are(page):
    model = ada.load("pa10")
    shown = PosePage(page, model, np.full(7, 0.3))
    poses = ada.Dynamics(model).forward_kinematics(np.full(7, 0.3))
    for kind, made in KINDS.items():
        shown.overlays.boxes[kind].value = True
        shown.refresh()
        drawn = np.concatenate([node.batched_positions for node in page.scene.below("/shown")])
        wanted = sorted(tuple(np.round((poses[p.link] @ p.pose)[:3, 3], 5)) for p in made(model))
        assert np.allclose(wanted, sorted(tuple(np.round(at, 5)) for at in drawn), atol=2e-5)
        shown.overlays.boxes[kind].value = False
        shown.refresh()
        assert page.scene.below("/shown") == []
    shown.overlays.com.value = True
    shown.refresh()
    ball = page.scene.named("/com")
    np.testing.assert_allclose(ball.position, ada.Dynamics(model).com(np.full(7, 0.3)), atol=1e-12)
    shown.overlays.remove()
    shown.scene.remove()


def test_a_box_of_inertia_has_the_moments_of_its_link():
    model = ada.load("pa10")
    for part in inertias(model):
        link, (a, b, c) = model.links[part.link], part.scale
        own = link.mass / 12.0 * np.diag([b * b + c * c, c * c + a * a, a * a + b * b])
        R = part.pose[:3, :3]
        assert np.isclose(np.linalg.det(R), 1.0)
        assert np.allclose(R @ own @ R.T, link.inertia, rtol=0.02, atol=1e-4 * link.mass)


@pytest.mark.parametrize("name", ["stewart", "delta", "slider_crank", "parallel_gripper"])
def test_gaps_of_each_loop_and_their_balls_are_where_the_algorithms_on_numbers_put_them(page, name):
    model = ada.load(name)
    scene = Scene(page.server, model)
    q = model.integrate(ada.close_loops(model), np.random.default_rng(3).normal(scale=0.1, size=model.nv))
    scene.show(q)
    numbers = ConstraintSet(model)
    sizes = np.abs(numbers.violation(q))
    of = np.array([loop for loop, _, _ in numbers.rows])
    assert scene.gaps == pytest.approx({loop: sizes[of == loop].max() for loop in model.loop_names}, abs=1e-14)
    poses = {**{"world": np.eye(4)}, **scene.poses}
    ends = [(poses[j.child] @ [*j.child_xyz, 1.0])[:3] for j in model.loops.values()]
    np.testing.assert_allclose(page.scene.named("/loops/joints").batched_positions, ends, atol=1e-6)  # single precision


def test_a_slider_moves_the_robot_and_springs_back_where_it_cannot_go(page):
    shown = PosePage(page, rocker(2.0, 1.2, 1.3, 1.0), [0.6, 1.5, 1.5])
    coordinate, slider = shown.sliders[0]
    slider.value = 40.0
    shown.move(coordinate)
    assert np.degrees(shown.posing.q[0]) == pytest.approx(40.0)
    slider.value = -170.0
    shown.move(coordinate)
    assert slider.value == pytest.approx(np.degrees(shown.posing.q[0]))
    assert slider.value > -100.0
    assert "cannot reach -170 deg" in shown.status.content
    shown.reset()
    assert slider.value == pytest.approx(np.degrees(shown.posing.value(coordinate)))


def test_a_number_that_is_typed_is_not_overwritten_by_the_answer_to_its_first_digit(page):
    shown = PosePage(page, rocker(2.0, 1.2, 1.3, 1.0), [0.6, 1.5, 1.5])
    coordinate, slider = shown.sliders[0]
    move = shown.posing.move

    def meanwhile(coordinate, value):
        slider.value = 11.0  # the next digit arrives while the first one is acted on
        return move(coordinate, value)

    shown.posing.move = meanwhile
    slider.value = 1.0
    shown.move(coordinate)
    assert slider.value == 11.0
    shown.posing.move = move
    shown.move(coordinate)
    assert np.degrees(shown.posing.q[0]) == pytest.approx(11.0)
    slider.value = 4000.0  # out of range: a number half typed
    shown.move(coordinate)
    assert np.degrees(shown.posing.q[0]) == pytest.approx(11.0)


def test_a_recording_stops_at_the_end_or_begins_again(swing):
    clock = ManualClock()
    recording = Recording(swing, clock)

    def after(seconds):
        clock.advance(seconds)
        return recording.newest().t, recording.is_running

    recording.set_speed(0.5, print)
    assert after(1.0) == (0.0, False)
    recording.ask("resume", lambda problem: None)
    assert after(1.0) == (0.5, True)
    assert after(9.0) == (1.0, False)
    recording.ask("resume", lambda problem: None)
    recording.repeats = True
    assert after(3.0) == (0.5, True)


def test_a_log_is_shown_at_any_time_with_cursor_events_and_forces(page, swing):
    shown = PlaybackPage(page, swing)
    shown.go_to(0.5)
    q, _ = swing.at(0.5)
    down = shown.scene.poses["bob"][:3, :3] @ [0, 0, -1]
    np.testing.assert_allclose(down, [-np.sin(q[0]), 0, -np.cos(q[0])], atol=1e-12)
    assert list(shown.events.options) == ["-", "1: 0.25 s, singular", "2: 0.5 s, lowest"]
    t, *_, cursor = page.gui.all("uplot")[0].data
    assert t[np.argmax(cursor)] == 0.5 and len(t) > 100
    shown.tick()
    arrows = {mark.space: mark for mark in shown.source.marks(())}
    assert set(arrows) >= {"contact", "support", "external"}
    push = np.diff(arrows["external"].points, axis=0)[0]
    scale = shown.scene.size / (2.0 * shown.scene.weight)
    np.testing.assert_allclose(push, scale * 3.0 * np.array([np.cos(q[0]), 0, -np.sin(q[0])]), rtol=1e-5, atol=1e-9)
    for title in ("joint forces [N]", "joint torques [N m, N]"):
        shown.plot.choice.set(title)
        page.act()
        assert np.isfinite(page.gui.named(title).data[1]).all()
    shown.one_step()
    shown.tick()
    assert shown.now.t == pytest.approx(0.505)
    shown.reset()
    shown.tick()
    assert shown.now.t == 0.0
    shown.toggle()
    page.clock.advance(0.3)
    shown.tick()
    assert shown.now.t == pytest.approx(0.3)
    assert shown.slider.value == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("speed", "cost", "factor"),
    [(1.0, 1e-5, 1.0), (0.25, 1e-5, 0.25), (1.0, 1e-2, 0.1)],  # a step of 1 ms takes 10 ms: all of the time
)
def test_steps_keep_up_with_the_clock_as_far_as_they_can(page, pendulum, speed, cost, factor):
    simulation, step = ada.Simulation(pendulum, step=1e-3), ada.Simulation.step
    begin = page.clock.now()

    def costly(n=1):
        page.clock.advance(n * cost)
        step(simulation, n)

    simulation.step = costly
    robot = LocalRobot(simulation, page.say, page.clock)
    robot.period = 1e-3
    robot.set_speed(speed, print)
    robot.ask("resume", lambda problem: None)
    for frame in range(1, 91):
        page.clock.advance(max(begin + frame / 30 - page.clock.now(), 1e-3))
        robot.newest()
    assert simulation.t / (page.clock.now() - begin) == pytest.approx(factor, abs=0.02)


def passes(shown, seconds):
    shown.page.clock.advance(seconds)
    shown.tick()


def test_a_push_is_a_force_at_the_centre_of_mass_that_ends(page, pendulum):
    simulation, pushed = pushable(pendulum)
    shown = live_page(page, simulation)
    shown.source.push("bob", np.array([10.0, 0.0, 0.0, 0.0, -10.0, 0.0]))
    assert pushed[0][::2] == ("bob", 0.1)
    while simulation.t < 0.1 - 1e-9:
        shown.one_step()
    # 10 N at 1 m for 0.1 s on 2.1 kg m2 against gravity: about 0.48 rad/s, to the second order of 3 rad/s times 0.1 s
    assert abs(simulation.v[0]) == pytest.approx(1.0 / 2.1, rel=0.05)
    energy = sum(shown.scene.dynamics.energy(simulation.q, simulation.v))
    simulation.step(50)
    assert sum(shown.scene.dynamics.energy(simulation.q, simulation.v)) == pytest.approx(energy, abs=1e-9)


def test_a_drag_holds_the_link_of_the_part_under_the_pointer(page):
    scene, pulls = Scene(page.server, ada.load("planar_3r")), []
    scene.on_mouse(pulls.append)
    batch, places = scene.batches.each[-1], ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    for i in range(len(batch.links)):
        batch.node.act("drag", phase="start", instance_index=i, start_position=places[0], end_position=places[1])
    assert [pull.link for pull in pulls] == batch.links and len(batch.links) > 1
    np.testing.assert_array_equal([pulls[0].grabbed, pulls[0].pointer], places)


def test_a_pull_that_is_refused_is_said_once_however_long_it_is_dragged(page, pendulum):
    simulation, _ = pushable(pendulum)
    shown, said = live_page(page, simulation), page.server.said

    def refuse(link, wrench, duration, **options):
        raise ada.InputError("not now")

    simulation.push = refuse
    shown.toggle()

    def drags(phase):
        shown.pushes.drag(MouseDrag("bob", phase, np.zeros(3), np.ones(3)))
        shown.tick()

    for phase in ("start", *["update"] * 5, "end"):
        drags(phase)
    assert said == ["not now"]
    drags("start")
    assert said == ["not now"] * 2


def test_a_simulation_that_fails_is_paused_and_the_page_stays(page, pendulum):
    simulation, _ = pushable(pendulum)
    shown = live_page(page, simulation)

    def fail(n=1):
        raise ada.InputError("no further")

    simulation.step = fail
    shown.toggle()
    passes(shown, 0.1)
    assert not shown.is_playing
    assert "no further" in page.server.said[0]


def test_a_simulation_in_this_process_takes_no_commands_and_no_poses_but_another_speed(page, pendulum):
    shown = live_page(page, pushable(pendulum)[0])
    for ask in (shown.source.command, shown.source.set_state):
        with pytest.raises(ada.InputError):
            ask({"swing": 0.1})
    shown.source.command(None)
    shown.speed.value = "0.25"
    shown.set_speed()
    shown.toggle()
    for _ in range(100):
        passes(shown, 0.04)
    assert shown.source.newest().t == pytest.approx(0.25 * 4.0, abs=0.02)


def test_what_is_noted_of_controls_that_an_action_before_it_takes_away_is_not_done(page):
    done = []
    page.note("another robot", page.clear)
    page.note("a click on the old one's controls", lambda: done.append("old"))
    page.act()
    page.note("a click on the new one's controls", lambda: done.append("new"))
    page.act()
    assert done == ["new"]


SECONDS = 12  # more than one walk


@pytest.mark.parametrize("name", DEMOS)
def test_a_robot_of_the_demo_moves_stays_closed_and_keeps_on_its_feet(name):
    simulation, targets = DEMOS[name].prepared()
    said: list[str] = []
    performer = ServoRobot(simulation, targets, said.append, ManualClock())
    start, moved = simulation.q.copy(), 0.0
    for _ in range(SECONDS):
        performer.advance(1.0)
        moved = max(moved, float(np.max(np.abs(simulation.q - start))))
    assert simulation.t == pytest.approx(SECONDS) and not said
    assert moved > 0.05  # [rad, m]
    model = simulation.model
    if model.loops:
        assert simulation.dynamics.constraints.closure_error(simulation.q) < 1e-9
    if simulation.contact is not None:
        up = simulation.dynamics.pose(model.root, simulation.q)[2, 2]
        assert up > 0.9  # upright


@pytest.fixture
def room(page):
    return DemoPage(page, "five_bar")


def test_a_robot_that_is_chosen_in_a_browser_takes_the_place_of_the_one_before(room):
    first = room.robot
    for name in ("khr1", "pa10"):  # the second one by the list that came with the first
        room.choice.set(DEMOS[name].words)
        room.page.act()
        room.tick()
        assert room.chosen == room.robot.model.name == name and room.robot is not first
        assert room.choice.value == DEMOS[name].words and room.robot.is_playing


@pytest.mark.parametrize(("shapes", "count"), [((), 1), ((Shape("sphere", (0.1,)),), 0)])
def test_a_robot_without_shapes_that_can_be_drawn_says_so(caplog, shapes, count):
    model = ada.Builder("bare").link("base").link("rod", 1.0, (0, 0, 0.5), (1, 1, 1), visuals=shapes)
    assert parts_of(model.joint("pin", "revolute", "base", "rod").build())
    assert sum("no shapes" in record.message for record in caplog.records) == count
