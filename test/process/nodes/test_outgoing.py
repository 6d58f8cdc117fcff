# SPDX-License-Identifier: Apache-2.0
"""Messages that leave the dynamics node: bytes as ROS lays them out, the numbers of the state bit for bit."""

from functools import cache

import numpy as np
import pytest
from log_examples import mixed
from standing_box import Row

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.model import Mimic
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.messages import JointStates
from ada_robot.messages.outgoing import StateMessages

ROBOTS = ("pa10", "hoap2", "four_bar", "parallel_gripper", "mixed")
STAMP = 1_700_000_123_000_000_789  # [ns]


@cache
def made(name, world_frame="odom"):
    """A model, its messages, and a random state of it, whose loops are open."""
    model = mixed("floating_euler") if name == "mixed" else ada.load(name)
    rng = np.random.default_rng(0)
    q, v = model.random_state(rng)
    dynamics = ada.Dynamics(model)
    return model, dynamics, StateMessages(dynamics, world_frame), Row(12.3, q, v, rng.normal(size=model.nv))


def parsed(kind, raw):
    """A message as the decoder of mcap reads it, which knows nothing of ROS's own."""
    dynamic = pytest.importorskip("mcap_ros2._dynamic")
    return dynamic.generate_dynamic(kind, messages.DEFINITIONS[kind])[kind](raw)


def assert_bytes_of_ros(raw, message):
    """The very bytes of rclpy, but for gaps before aligned numbers: they hold anything there, and zeros in ours."""
    serialization = pytest.importorskip("rclpy.serialization")
    theirs = serialization.serialize_message(message)
    assert serialization.deserialize_message(raw, type(message)) == message
    assert 0 <= len(theirs) - len(raw) < 4  # the end of its buffer, likewise
    assert all(own in (their, 0) for own, their in zip(raw, theirs, strict=False))
    assert raw[:4] == theirs[:4]


def stamp():
    return pytest.importorskip("builtin_interfaces.msg").Time(sec=STAMP // 10**9, nanosec=STAMP % 10**9)


@pytest.mark.ros
@pytest.mark.parametrize("name", ROBOTS)
def test_joint_states_have_the_numbers_of_the_state_bit_for_bit_and_the_bytes_of_ros(name):
    model, _, outgoing, row = made(name)
    awkward = (-0.0, 5e-324, np.nextafter(1.0, 2.0))
    q, v, tau = (np.resize([*x, *awkward][::-1], len(x)) for x in (row.q, row.v, row.tau))
    found = parsed(messages.JOINT_STATE, outgoing.joint_state(Row(0.0, q, v, tau), STAMP))
    assert (found.header.stamp.sec, found.header.stamp.nanosec) == (STAMP // 10**9, STAMP % 10**9)
    assert found.name == list(outgoing.joint_names)
    own = [n for n in model.joint_names if model.joints[n].nq == model.joints[n].nv == 1]
    assert set(own) == {n for n in found.name if model.joints[n].mimic is None}
    for joint in own:
        i = found.name.index(joint)
        numbers = [found.position[i], found.velocity[i], found.effort[i]]
        wanted = [q[model.q_index(joint)][0], v[model.v_index(joint)][0], tau[model.v_index(joint)][0]]
        assert np.array(numbers).tobytes() == np.array(wanted).tobytes()
    sensor_msgs = pytest.importorskip("sensor_msgs.msg")
    message = sensor_msgs.JointState(name=found.name, position=found.position, velocity=found.velocity)
    message.effort, message.header.stamp = found.effort, stamp()
    assert_bytes_of_ros(outgoing.joint_state(Row(0.0, q, v, tau), STAMP), message)


def test_a_mimic_joint_follows_its_driver_and_leaves_it_the_effort():
    builder = ada.Builder("gripper")
    for name in ("palm", "left", "right"):
        builder.link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.joint("right_slide", "prismatic", "palm", "right", mimic=Mimic("left_slide", -2.0, 0.25))
    builder.joint("left_slide", "prismatic", "palm", "left")
    model = builder.build()
    joints = JointStates(model)
    assert joints.names == ("right_slide", "left_slide")
    one = joints.numbers(np.array([0.5]), np.array([3.0]), np.array([7.0]))
    assert [x.tolist() for x in one] == [[-0.75, 0.5], [-6.0, 3.0], [0.0, 7.0]]
    many = joints.numbers(np.array([[0.5], [0.0]]), np.array([[3.0], [1.0]]), np.array([[7.0], [8.0]]))
    wanted = [[[-0.75, 0.5], [0.25, 0.0]], [[-6.0, 3.0], [-2.0, 1.0]], [[0.0, 7.0], [0.0, 8.0]]]
    assert [x.tolist() for x in many] == wanted


@pytest.mark.ros
@pytest.mark.parametrize("name", ROBOTS)
def test_state_and_clock_have_the_bytes_of_ros(name):
    std_msgs = pytest.importorskip("std_msgs.msg")
    model, _, outgoing, row = made(name)
    message = std_msgs.Float64MultiArray(data=[row.t, *row.q, *row.v, *row.tau])
    for label, size in (("t", 1), ("q", model.nq), ("v", model.nv), ("tau", model.nv)):
        message.layout.dim.append(std_msgs.MultiArrayDimension(label=label, size=size, stride=size))
    assert_bytes_of_ros(outgoing.state(row), message)
    rosgraph_msgs = pytest.importorskip("rosgraph_msgs.msg")
    assert_bytes_of_ros(outgoing.clock(STAMP), rosgraph_msgs.Clock(clock=stamp()))


def rotation(x, y, z, w):
    u = np.array([x, y, z])
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return (w * w - u @ u) * np.eye(3) + 2 * np.outer(u, u) + 2 * w * cross


def steps(outgoing, row):
    """By child, its parent and its 4x4 pose there, of all transforms."""
    found = {}
    for one in parsed(messages.TRANSFORMS, outgoing.transforms(row, STAMP)).transforms:
        assert (one.header.stamp.sec, one.header.stamp.nanosec) == (STAMP // 10**9, STAMP % 10**9)
        place, turn = one.transform.translation, one.transform.rotation
        numbers = (place.x, place.y, place.z), (turn.x, turn.y, turn.z, turn.w)
        found[one.child_frame_id] = one.header.frame_id, *numbers
    for fixed in outgoing.static_transforms():
        assert fixed.child not in found
        found[fixed.child] = fixed.parent, fixed.xyz, fixed.xyzw
    for child, (parent, xyz, xyzw) in found.items():
        assert np.linalg.norm(xyzw) == pytest.approx(1.0, abs=1e-15)
        T = np.eye(4)
        T[:3, 3], T[:3, :3] = xyz, rotation(*xyzw)
        found[child] = parent, T
    return found


@pytest.mark.parametrize("name", ROBOTS)
def test_transforms_along_the_tree_lead_from_the_world_to_every_link(name):
    model, dynamics, outgoing, row = made(name)
    found = steps(outgoing, row)
    assert set(found) == set(model.links)
    for link in model.links:
        T, at = np.eye(4), link
        while at != "odom":
            parent, step = found[at]
            T, at = step @ T, parent
        assert np.allclose(T, dynamics.pose(link, row.q), atol=2e-14)  # rounding of up to a dozen steps of up to 5 m


@pytest.mark.ros
def test_transforms_have_the_bytes_of_ros():
    tf2_msgs, geometry_msgs = pytest.importorskip("tf2_msgs.msg"), pytest.importorskip("geometry_msgs.msg")
    _, _, outgoing, row = made("hoap2")
    raw = outgoing.transforms(row, STAMP)
    message = tf2_msgs.TFMessage()
    for one in parsed(messages.TRANSFORMS, raw).transforms:
        real = geometry_msgs.TransformStamped(child_frame_id=one.child_frame_id)
        real.header.frame_id, real.header.stamp = one.header.frame_id, stamp()
        for part, fields in (("translation", "xyz"), ("rotation", "xyzw")):
            for field in fields:
                setattr(getattr(real.transform, part), field, getattr(getattr(one.transform, part), field))
        message.transforms.append(real)
    assert_bytes_of_ros(raw, message)


def test_a_fixed_base_is_static_in_the_world_unless_it_has_that_name_and_a_moving_link_may_not():
    rows = made("pa10", world_frame="map")[2].static_transforms()
    assert rows[0][:2] == ("map", "base_link")
    assert rows[0].xyzw == (0.0, 0.0, 0.0, 1.0)
    assert [row.child for row in made("pa10", world_frame="base_link")[2].static_transforms()] == ["flange"]
    model, _, outgoing, _ = made("hoap2")
    assert model.root not in {row.child for row in outgoing.static_transforms()}
    for name, frame in (("pa10", "link_3"), ("hoap2", "waist")):
        with pytest.raises(InputError):  # the name of a link that moves
            made(name, world_frame=frame)
