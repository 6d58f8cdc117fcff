# SPDX-License-Identifier: Apache-2.0
"""Wrenches of joints as the node tells them: they explain the motion of every link, and have the bytes of ROS."""

import numpy as np
import pytest
from loop_robots import driven_state
from standing_box import Row

import ada_dynamics as ada
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.contact.stops import JointStops
from ada_dynamics.simulation.system import frictionless
from ada_robot.messages.outgoing import StateMessages
from ada_robot.messages.wrenches import JointLoads, WrenchMessages, passive_efforts

G = 9.81


def state(model):
    dynamics, *numbers = driven_state(model, 3)
    return dynamics, Row(0.5, *numbers)


def momentum_rate(model, dynamics, row, a, link):
    """Rate of momentum of a link: force, and moment about its origin, in the world's axes (Newton, Euler)."""
    body, pose = model.links[link], dynamics.pose(link, row.q)
    velocity, rate = dynamics.velocity(link, row.q, row.v), dynamics.acceleration(link, row.q, row.v, a)
    R, w, alpha = pose[:3, :3], velocity[3:], rate[3:]
    r, inertia = R @ body.com, R @ body.inertia @ R.T
    force = body.mass * (rate[:3] + np.cross(alpha, r) + np.cross(w, np.cross(w, r)))
    spin = inertia @ alpha + np.cross(w, inertia @ w)
    return np.concatenate([force, spin + np.cross(r, force)])


def at_point(wrench, shift):
    """A wrench about a point, about one that lies `shift` away from there; world's axes."""
    return np.concatenate([wrench[:3], wrench[3:] - np.cross(shift, wrench[:3])])


def add_contact(applied, poses, frame, wrench):
    """Add a contact wrench, at its point in the axes of the world, to wrenches at and in the frames of links."""
    point = poses[frame.link][:3, 3] + poses[frame.link][:3, :3] @ np.asarray(frame.xyz)
    for link, sign in ((frame.link, 1.0), (frame.other, -1.0)):
        if link in poses:
            pose = poses[link]
            world = sign * at_point(wrench, pose[:3, 3] - point)
            own = np.concatenate([pose[:3, :3].T @ world[:3], pose[:3, :3].T @ world[3:]])
            applied[link] = applied.get(link, np.zeros(6)) + own


def hung():
    """Three rods in a row that hang from the world by a ball at their end."""
    builder = ada.Builder("hung")
    builder.link("base")
    for i in range(3):
        parent = f"rod_{i - 1}" if i else "base"
        builder.link(f"rod_{i}", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
        builder.joint(f"turn_{i}", "revolute", parent, f"rod_{i}", xyz=(i, 0, 0), axis=(0, 1, 0))
    builder.loop("end", "spherical", "rod_2", "world", parent_xyz=(1, 0, 0), child_xyz=(2.2, 0, -1.0))
    return builder.build()


@pytest.mark.parametrize("name", ["pa10", "floating_6", "five_bar", "hung"])
def test_the_wrenches_of_its_joints_explain_how_each_link_moves(name):
    model = hung() if name == "hung" else ada.load(name)
    dynamics, row = state(model)
    rng = np.random.default_rng(1)
    moving = [link for link in model.links if link not in (model.root, "world")]
    pushed, first, second = moving[-1], moving[-1], moving[0]
    frames = {
        "ground": ContactFrame(first, (0.1, -0.2, 0.05)),
        "pair": ContactFrame(first, (0.0, 0.1, 0.0), second),
        "idle": ContactFrame(first, (0.0, 0.0, 0.0)),
    }
    contact = {"ground": rng.normal(size=6), "pair": rng.normal(size=6), "idle": np.zeros(6)}
    row = row._replace(external={pushed: rng.normal(size=6)}, contact=contact)
    loads = JointLoads(dynamics, contact_frames=frames)
    found = loads.at(row)
    poses = dynamics.forward_kinematics(row.q)
    applied = {pushed: row.external[pushed].copy()}
    for name, frame in frames.items():
        add_contact(applied, poses, frame, contact[name])
    a = dynamics.forward(row.q, row.v, row.tau, applied)

    left = {link: -momentum_rate(model, dynamics, row, a, link) for link in moving}

    def act(link, wrench, point):
        """Add a wrench about a point of the world, in its axes."""
        if link in left:
            left[link] += at_point(wrench, poses[link][:3, 3] - point)

    for link in moving:
        body, pose = model.links[link], poses[link]
        weight = np.concatenate([body.mass * np.array(model.gravity), np.zeros(3)])
        act(link, weight, pose[:3, 3] + pose[:3, :3] @ body.com)
    parents = {**{j.name: j.parent for j in model.joints.values()}, **{j.name: j.parent for j in model.loops.values()}}
    for joint, wrench in {**found, "pushed": row.external[pushed]}.items():
        child = loads.links.get(joint, pushed)
        pose = poses[child]
        turned = np.concatenate([pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]])
        act(child, turned, pose[:3, 3])
        act(parents.get(joint), -turned, pose[:3, 3])
    for name, frame in frames.items():
        pose = poses[frame.link]
        place = pose[:3, 3] + pose[:3, :3] @ np.asarray(frame.xyz)
        act(frame.link, contact[name], place)
        act(frame.other, -contact[name], place)
    # Rounding of a few dozen terms; the largest of them are the weight and the accelerations of light links.
    largest = max(np.max(np.abs(w)) for w in found.values())
    for link, rest in left.items():
        assert np.max(np.abs(rest)) < 1e-9 * (1.0 + largest), link


def pendulum(friction=0.0):
    """A mass of 2 kg, 1 m below its pivot, that turns about y and can go no further than 0.5 rad."""
    builder = ada.Builder("pendulum")
    builder.link("base")
    builder.link("rod", mass=2.0, com=(0, 0, -1.0), inertia=(0.1, 0.1, 0.1))
    limits = ada.model.Limits(lower=-0.5, upper=0.5)
    builder.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0), limits=limits, friction=friction)
    return builder.build()


def test_weight_stops_and_friction_of_a_pendulum_are_carried_by_its_pivot():
    model = pendulum(friction=0.7)
    found = JointLoads(ada.Dynamics(model)).at(Row(0.0, np.zeros(1), np.zeros(1), np.zeros(1)))
    assert found["pivot"] == pytest.approx([0, 0, 2 * G, 0, 0, 0], abs=1e-12)
    stops = JointStops(stiffness=1000.0, damping=0.0)
    without = ada.Dynamics(frictionless(model))
    loads = JointLoads(without, efforts=passive_efforts(model, stops, friction_speed=1e-6))
    row = Row(0.0, np.array([0.6]), np.array([2.0]), np.array([3.0]))
    # Motor, stop at a depth of 0.1 rad, and friction that is all there at this speed.
    assert loads.at(row)["pivot"][4] == pytest.approx(3.0 - 100.0 - 0.7, abs=1e-9)
    assert passive_efforts(pendulum()) is None


def test_wrenches_that_the_motion_leaves_open_are_named():
    arm, bar = ada.load("pa10"), ada.load("four_bar")
    dynamics, row = state(arm)
    loads = JointLoads(dynamics)
    loads.at(row)
    assert loads.not_unique == ()
    dynamics, row = state(bar)  # parallel axes: what acts across the plane is not determined
    loads = JointLoads(dynamics, ["closing", "joint_2"])
    loads.at(row)
    assert loads.not_unique == ("closing", "joint_2")


@pytest.mark.ros
@pytest.mark.parametrize("name", ["pa10", "space_robot_a", "hexa", "hung"])
def test_wrenches_have_the_bytes_of_ros_in_frames_that_the_transforms_have(name):
    serialization = pytest.importorskip("rclpy.serialization")
    geometry_msgs = pytest.importorskip("geometry_msgs.msg")
    model = hung() if name == "hung" else ada.load(name)
    dynamics, row = state(model)
    loads, states = JointLoads(dynamics), StateMessages(dynamics, "ground")
    frames = {"ground"} | {one.child for one in states.static_transforms()}
    frames |= {joint.child for joint in model.joints.values() if joint.kind != "fixed"}  # /tf has these
    numbers = loads.at(row)
    for joint, raw in WrenchMessages(loads, "ground").encode(row, 12_000_000_034).items():
        found = serialization.deserialize_message(raw, geometry_msgs.WrenchStamped)
        assert (found.header.stamp.sec, found.header.stamp.nanosec) == (12, 34)
        link = loads.links[joint]
        assert found.header.frame_id == (link if link in model.links else "ground") and found.header.frame_id in frames
        parts = [getattr(part, k) for part in (found.wrench.force, found.wrench.torque) for k in "xyz"]
        assert parts == numbers[joint].tolist()
        theirs = serialization.serialize_message(found)
        assert all(own in (their, 0) for own, their in zip(raw, theirs, strict=False))
