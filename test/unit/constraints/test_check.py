# SPDX-License-Identifier: Apache-2.0
"""`ada.check` reports what is wrong or odd in the loops of a description, and where it is written."""

import json
import re

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.model import Builder, planar_chain
from ada_dynamics.robots.mechanisms import four_bar
from ada_dynamics.robots.writers import render, write

ENDS = {"parent": {"link": "link_3", "xyz": [0, 0, 1]}, "child": {"link": "base", "xyz": [1, 0, 0]}}
CLOSING = {"name": "closing", "type": "revolute", "axis": [0, 1, 0], **ENDS}


def urdf(model):
    (text,) = render(model, "loop_joint").texts.values()
    return text


def chain(n=3):
    return urdf(planar_chain(n))


def closed(changes=None, **more):
    """The loop with some of its fields changed, and what else stands in its file."""
    return {"loops": [{**CLOSING, **(changes or {})}], **more}


def side(link, xyz):
    return {"link": link, "xyz": xyz}


def findings(source, **options):
    return {f.code: f for f in ada.check(source, **options).findings}


def test_a_linkage_whose_motor_is_named_has_one_note_on_its_redundant_conditions():
    report = ada.check(chain(), loops=closed(actuated=["joint_1"]))
    (note,) = report.findings
    assert (note.code, note.severity) == ("redundant", "note")
    # a planar linkage does not feel what happens across its plane
    assert "force along y, moment about z, moment about x" in note.message
    assert report.ok


def test_motors_beyond_the_mobility_are_counted():
    found = findings(chain(), loops=closed(actuated=["joint_1", "joint_3"]))["over-actuated"]
    assert found.severity == "note"
    assert "2 motors (joint_1, joint_3) drive 1 of 1 degrees of freedom" in found.message
    unnamed = findings(chain(), loops=closed())["over-actuated"]
    assert "all joints, as none is named" in unnamed.message
    assert "actuated" in unnamed.fix
    driven = chain().replace("</robot>", '<transmission name="t"><joint name="joint_3"/></transmission></robot>')
    assert "`actuated: [joint_3]`" in findings(driven, loops=closed())["over-actuated"].fix


NO_EFFORT = re.compile(r'(?<=effort=")[^"]+')


def passive(*joints):
    """The chain with an effort limit of 0 at some joints."""
    head, *rest = chain().split('<joint name="')
    return '<joint name="'.join([head, *(NO_EFFORT.sub("0", one) if one.startswith(joints) else one for one in rest)])


def test_joints_without_effort_are_reported_first_where_no_motor_is_named_and_are_right_where_motors_are():
    text = passive("joint_2", "joint_3").replace('<robot name="planar_3r">', "<robot>")  # which is a warning as well
    unnamed = ada.check(text, loops=closed())
    assert [f.code for f in unnamed.warnings] == ["motors-not-named", "no-name"]
    assert "`actuated: [joint_1]`" in unnamed.findings[0].fix
    assert "over-actuated" not in {f.code for f in unnamed.findings}
    controlled = '<ros2_control><joint name="joint_2"><command_interface name="effort"/></joint></ros2_control></robot>'
    assert "`actuated: [joint_2]`" in ada.check(text.replace("</robot>", controlled), loops=closed()).findings[0].fix
    named = ada.check(text, loops=closed(actuated=["joint_1"]))
    assert [f.code for f in named.findings] == ["no-name", "redundant"]
    wrong = ada.check(text, loops=closed(actuated=["joint_2"])).warnings
    assert [(f.code, f.where) for f in wrong] == [("no-name", "<robot>"), ("limit-zero", "joint 'joint_2'")]


def test_joints_without_effort_in_a_tree_are_one_finding():
    (finding,) = ada.check(passive("joint_1", "joint_3")).findings
    assert (finding.code, finding.where) == ("limit-zero", "joints 'joint_1', 'joint_3'")


def test_a_motion_that_no_motor_drives_is_a_warning_unless_a_spring_holds_it():
    text = chain(4)
    loop = {"parent": side("link_4", [0, 0, 1])}
    (warning,) = ada.check(text, loops=closed(loop, actuated=["joint_1"])).warnings
    assert warning.code == "under-actuated"
    assert not ada.check(text, loops=closed(loop, actuated=["joint_1", "joint_2"])).warnings
    last = text.index('<joint name="joint_4"')
    sprung = text[:last] + text[last:].replace("<limit", '<dynamics spring_stiffness="5"/><limit', 1)
    assert not ada.check(sprung, loops=closed(loop, actuated=["joint_1"])).warnings


@pytest.mark.parametrize("ball", ["spherical", "crosses"])
def test_massless_crosses_of_a_rod_are_right_whether_tree_joints_or_a_loop_joint_complete_them(ball):
    robot = Builder("rocker").link("base")
    robot.link("crank", 1.0, (0.1, 0, 0), (2e-3, 2e-3, 2e-3)).joint(
        "crank", "revolute", "base", "crank", axis=(0, 1, 0)
    )
    robot.link("lever", 1.0, (0.2, 0, 0), (2e-3, 2e-3, 2e-3))
    robot.joint("lever", "revolute", "base", "lever", (0, 0.2, 1.0), axis=(0, 1, 0))
    robot.link("cross").joint("swing", "revolute", "crank", "cross", (0.2, 0, 0), axis=(0, 1, 0))
    robot.link("rod", 1.0, (0, 0, 0.5), (0.1, 0.1, 1e-3)).joint("tilt", "revolute", "cross", "rod", axis=(1, 0, 0))
    end, child = (0, 0, 1.0198), (0.2, 0, 0)
    if ball == "spherical":
        robot.loop("end", "spherical", "rod", "lever", end, child_xyz=child)
    else:
        robot.link("first").joint("end_y", "revolute", "rod", "first", end, axis=(0, 1, 0))
        robot.link("second").joint("end_x", "revolute", "first", "second", axis=(1, 0, 0))
        robot.loop("end_z", "revolute", "second", "lever", axis=(0, 0, 1), child_xyz=child)
    report = ada.check(urdf(robot.actuated(["crank"]).build()))
    assert report.findings == []


def rssr(ball="three hinges"):
    """A crank and a rocker on parallel axes, joined by a rod with ball joints at both ends (RSSR)."""
    robot = Builder("rssr").link("base")
    for name, place in (("crank", (0, 0, 0)), ("rocker", (1.0, 0.3, 0))):
        robot.link(name, 1.0, (0.1, 0, 0), (1e-2, 2e-2, 2e-2))
        robot.joint(name, "revolute", "base", name, place, axis=(0, 1, 0))
    robot.link("rod", 1.0, (0.5, 0.02, 0), (0.01, 0.1, 0.1))
    if ball == "spherical":
        robot.joint("ball", "spherical", "crank", "rod", (0.3, 0, 0))
    else:
        robot.link("x").joint("ball_x", "revolute", "crank", "x", (0.3, 0, 0), axis=(1, 0, 0))
        robot.link("y").joint("ball_y", "revolute", "x", "y", axis=(0, 1, 0))
        robot.joint("ball_z", "revolute", "y", "rod", axis=(0, 0, 1))
    robot.loop("end", "spherical", "rod", "rocker", (1.1, 0, 0), child_xyz=(0, 0, 0.5))
    return robot.actuated(["crank"]).build()


def test_a_rod_that_can_rotate_about_itself_is_named_with_the_joint_to_lock():
    text = urdf(rssr())
    (found,) = ada.check(text).findings
    assert (found.code, found.severity) == ("idle-rotation", "warning")
    assert "'rod'" in found.message
    joint = re.search(r"locked: \[(\w+)\]", found.fix)[1]
    assert ada.check(text, loops={"locked": [joint]}).findings == []
    with pytest.raises(ada.InputError) as refusal:
        ada.Dynamics(ada.load(text)).constraints.tangent_map(ada.close_loops(ada.load(text)), "actuated")
    assert joint in refusal.value.joint
    model = ada.load(text, loops={"locked": [joint]})
    q = ada.close_loops(model)
    dyn = ada.Dynamics(model)
    T = dyn.constraints.tangent_map(q, "actuated")
    # velocities of both ends along the rod are equal, whatever the rod does about itself
    ends = [dyn.jacobian(name, q, frame="local_world_aligned") @ T[:, 0] for name in ("crank", "rocker")]
    places = [dyn.pose(name, q) for name in ("crank", "rocker")]
    arms = [pose[:3, :3] @ at for pose, at in zip(places, ([0.3, 0, 0], [0, 0, 0.5]), strict=True)]
    points = [pose[:3, 3] + arm for pose, arm in zip(places, arms, strict=True)]
    first, second = (V[:3] + np.cross(V[3:], arm) for V, arm in zip(ends, arms, strict=True))
    assert (first - second) @ (points[1] - points[0]) == pytest.approx(0.0, abs=1e-12)


def test_a_ball_joint_of_a_rod_that_can_rotate_about_itself_is_named_with_the_axes_to_keep():
    text = urdf(rssr("spherical"))
    found = findings(text)["idle-rotation"]
    assert "'rod'" in found.message and "locked" not in found.fix
    change = {key: [value] for key, value in re.findall(r"(joint_\w+): \[(\w+)\]", found.fix)}
    assert change["joint_name"] == ["ball"]
    assert ada.check(text, loops=change).findings == []
    assert ada.load(text, loops=change | {"passive": []}).joints["ball"].kind == "universal"


def test_motions_of_several_links_are_no_idle_rotations():
    found = findings(urdf(rssr()), loops={"passive": ["crank"], "locked": ["ball_x"]})
    assert "idle-rotation" not in found


def test_a_locked_joint_that_does_not_exist_is_an_error_with_its_line():
    (error,) = ada.check(urdf(rssr()), loops={"locked": ["bal_x"]}).errors
    assert "'ball_x'" in error.message


def test_a_third_crank_that_rounding_misaligns_does_not_lock_a_platform():
    """MJCF computes the ends of a connect from the poses of the file, which closes the loop exactly at zero."""
    body = (
        '<body name="{}" pos="{} 0 {}" quat="0.984727 0 {} 0"> <joint name="{}" axis="0 1 0"/> <inertial pos="0 0 {}" '
    )
    plate = body.format("plate", 0, 0.2, -0.174108, "p", 0) + 'mass="2" diaginertia="0.1 0.2 0.2"/> </body>'
    crank = body + 'mass="1" diaginertia="0.02 0.01 0.02"/> {} </body>'
    places = ((0, 0, 0.174108), (0.2, 0.1, 0.174109), (0.5, -0.05, 0.174107))
    bodies = "".join(crank.format(f"crank_{i}", *at, i, 0.1, plate * (i == 1)) for i, at in enumerate(places, start=1))
    closing = "".join(f'<connect body1="crank_{i}" body2="plate" anchor="0 0 0.2"/>' for i in (2, 3))
    text = f"<mujoco><worldbody>{bodies}</worldbody><equality>{closing}</equality></mujoco>"
    assert ada.check(text).warnings == []
    model = ada.load(text)
    dyn, q = ada.Dynamics(model), ada.close_loops(model)
    assert dyn.constraints.mobility == 1
    a = 9.81 * np.sin(0.35) * (3 * 0.1 + 2 * 0.2) / (3 * (0.01 + 0.1**2) + 2 * 0.2**2)
    np.testing.assert_allclose(dyn.forward(q, np.zeros(4), np.zeros(4)), [a, -a, a, a], rtol=1e-5)
    turned = ada.close_loops(model, [0.3, -0.3, 0.3, 0.31])  # the loops close exactly at zero only
    np.testing.assert_allclose(turned, [0.3025, -0.3025, 0.3025, 0.3025], atol=1e-3)


def test_motors_that_cannot_hold_the_weight_are_named():
    text = urdf(rssr())
    found = findings(NO_EFFORT.sub("0.01", text), loops={"locked": ["ball_x"]})
    assert found["weak-motors"].severity == "warning" and "crank" in found["weak-motors"].message
    assert "weak-motors" not in findings(text, loops={"locked": ["ball_x"]})


def test_motors_that_drive_nothing_are_found_by_rank_and_not_by_their_number():
    robot = Builder("two").link("base")
    for i, parent in ((1, "base"), (2, "link_1"), (3, "link_2"), (4, "base")):
        robot.link(f"link_{i}", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.1))
        robot.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (0, 0, 1.0 if i in (2, 3) else 0.0), axis=(0, 1, 0))
    robot.loop("closing", "revolute", "link_3", "base", (0, 0, 1), child_xyz=(1, 0, 0), axis=(0, 1, 0))
    robot.actuated(["joint_1", "joint_2"])
    found = findings(urdf(robot.build()))["over-actuated"]
    assert "2 motors (joint_1, joint_2) drive 1 of 2 degrees of freedom" in found.message


def test_a_loop_that_cannot_close_is_an_error_with_its_gap():
    report = ada.check(chain(), loops=closed({"child": side("base", [9, 0, 0])}))
    (error,) = report.errors
    assert error.code == "loop-open"
    assert "'closing'" in error.where
    # three rods of 1 m that point at a pivot 9 m away miss it by 6 m
    assert "'closing' by 6 m" in error.message


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_loop_between_links_that_are_fixed_to_each_other_is_an_error(base):
    robot = Builder("r").link("base", 1.0, inertia=(1, 1, 1)).link("rod", 1.0, inertia=(1, 1, 1))
    robot.link("tool", 1.0, inertia=(1, 1, 1)).joint("weld", "fixed", "rod", "tool")
    robot.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0))
    loop = {"parent": side("rod", [0, 0, 0]), "child": side("tool", [0, 0, 0])}
    error = findings(urdf(robot.build()), base=base, loops=closed(loop))["rigid-loop"]
    assert (error.severity, "'closing'" in error.where) == ("error", True)


def test_a_loop_from_a_fixed_base_to_the_world_is_an_error_and_from_a_floating_one_it_is_none():
    loop = closed({"parent": side("world", [0, 0, 0]), "child": side("base", [0, 0, 0]), "type": "spherical"})
    del loop["loops"][0]["axis"]
    robot = Builder("r").link("base", 1.0, inertia=(1, 1, 1)).link("rod", 1.0, inertia=(1, 1, 1))
    text = urdf(robot.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0)).build())
    assert findings(text, loops=loop)["rigid-loop"].severity == "error"
    assert ada.check(text, base="floating", loops=loop).ok


def test_loops_that_leave_nothing_to_move_are_a_warning():
    found = findings(chain(2), loops=closed({"parent": side("link_2", [0, 0, 1])}))
    assert found["locked"].severity == "warning"
    assert "2 independent constraints on 2 joint velocities" in found["locked"].message
    assert "over-actuated" not in found


def test_single_joints_that_the_loops_hold_are_named():
    report = ada.check(chain(5), loops=closed({"parent": side("link_2", [0, 0, 1])}))
    assert [w.where.split(": ")[-1] for w in report.warnings] == ["joint 'joint_1'", "joint 'joint_2'"]
    assert {w.code for w in report.warnings} == {"locked-joint"}


def test_a_closed_zero_pose_that_is_singular_is_a_warning():
    robot = Builder("flat").link("base")
    for i, (parent, at) in enumerate((("base", 0), ("link_1", 1), ("link_2", 1)), start=1):
        way = -1.0 if i == 3 else 1.0  # the last rod leads back
        robot.link(f"link_{i}", 1.0, (0.5 * way, 0, 0), (0, 1 / 12, 1 / 12))
        robot.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (at, 0, 0), axis=(0, 1, 0))
    robot.loop("closing", "revolute", "link_3", "base", (-1, 0, 0), child_xyz=(1, 0, 0), axis=(0, 1, 0))
    warning = findings(urdf(robot.build()))["singular-pose"]
    assert warning.severity == "warning"
    assert "the zero configuration is singular: the mobility is 2 instead of 1" in warning.message


def test_a_link_without_mass_that_its_loops_hold_is_no_error():
    model = four_bar().model
    text = urdf(model)
    start = text.index('<link name="link_3">')
    end = text.index("</link>", start)
    light = text[:start] + '<link name="link_3">' + text[end:]
    report = ada.check(light)
    assert report.ok
    assert "held-by-loops" in {f.code for f in report.notes}
    opened = light[: light.index("<loop_joint")] + "</robot>"
    assert "singular" in {f.code for f in ada.check(opened).errors}


def test_parts_that_only_a_loop_connects_are_named():
    text = chain().replace("</robot>", '<link name="island"/></robot>')
    error = findings(text, loops=closed({"child": side("island", [0, 0, 0])}))["several-roots"]
    assert error.severity == "error"
    assert "'base'" in error.message and "'island'" in error.message


def test_findings_name_file_and_line_of_the_loop(tmp_path):
    main, beside = write(four_bar().model, tmp_path / "robot.urdf", "sidecar")
    text = beside.read_text(encoding="utf-8")
    line = next(i for i, one in enumerate(text.splitlines(), start=1) if "name: closing" in one)
    note = findings(main, loops=beside)["redundant"]
    assert f"{beside}, line {line}: loop 'closing'" in str(note)
    (inside,) = write(four_bar().model, tmp_path / "one.urdf", "loop_joint")
    lines = inside.read_text(encoding="utf-8").splitlines()
    assert lines[findings(inside)["redundant"].line - 1].strip().startswith("<loop_joint")


def test_a_model_with_loops_in_another_format_is_checked_too(tmp_path):
    (file,) = write(four_bar().model, tmp_path / "four_bar.xml", "mjcf")
    report = ada.check(file)
    assert report.ok
    assert "redundant" in {f.code for f in report.notes}
    json.dumps(report.to_dict())


def test_large_models_are_not_searched_for_ranks():
    n = 70
    text = chain(n)
    loop = closed({"parent": side(f"link_{n}", [0, 0, 1])})
    report = ada.check(text, loops=loop)
    assert [f.code for f in report.findings] == ["loops-not-checked"]
