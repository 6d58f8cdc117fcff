# SPDX-License-Identifier: Apache-2.0
"""Recordings: bit for bit the same when read again, and ROS 2 messages for everybody else."""

from __future__ import annotations

import json
import sys
import tracemalloc

import numpy as np
import pytest
from log_examples import ROWS, assert_same, motion, robot

import ada_dynamics as ada
from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.log import Log, LogBuffer
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.log_files import model_from_text, model_to_text
from ada_dynamics.simulation.record.recorder import McapRecorder

mcap_reader = pytest.importorskip("mcap.reader")
mcap_ros2 = pytest.importorskip("mcap_ros2.decoder")


def decoded(path):
    """By topic, times [s] and messages, as mcap's own reader and decoder have them."""
    found: dict[str, list] = {}
    with path.open("rb") as file:
        reader = mcap_reader.make_reader(file, decoder_factories=[mcap_ros2.DecoderFactory()])
        for _, channel, message, content in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time * 1e-9, content))
    return found


def test_numbers_that_are_not_finite_are_recorded_as_they_are(tmp_path):
    model = robot("floating")
    rows = {"q": np.tile(model.neutral(), (3, 1)), "v": np.zeros((3, 9)), "a": np.zeros((3, 9))}
    rows["v"][1, 4], rows["a"][2, 0], rows["q"][2, 3:7] = np.nan, -np.inf, (np.inf, 0, 0, 0)
    log = Log(model, [0.0, 0.1, 0.2], **rows)  # tau is NaN
    found = Log.load(log.to_mcap(tmp_path / "run.mcap"))
    assert_same(found, log)


def test_wrenches_that_are_new_in_the_middle_of_a_recording_are_in_it(tmp_path):
    log = motion("arm")
    path, buffer = tmp_path / "run.mcap", LogBuffer(log.model)
    with McapRecorder(path, log.model, contact_frames=log.contact_frames) as recorder:
        for i in range(0, 60, 10):
            rows = slice(i, i + 10)
            external = {link: w[rows] for link, w in log.external.items()} if i >= 20 else None
            contact = {n: log.contact_wrenches[n][rows] for n in ("heel", "toe")[: i // 20]}
            for receiver in (buffer, recorder):
                receiver.append(
                    Log(
                        log.model,
                        *(getattr(log, name)[rows] for name in ROWS),
                        external=external,
                        contact_wrenches=contact,
                    )
                )
    assert_same(Log.load(path), Log(**buffer.content(), contact_frames=log.contact_frames))
    forces = [m.wrench.force.x for _, m in decoded(path)["/wrench/link_2"]]
    assert forces == log.external["link_2"][20:, 0].tolist()


def test_a_simulation_records_what_its_log_has(tmp_path):
    path = tmp_path / "fall.mcap"
    log = ada.Simulation(robot("arm"), q=[0.3, 0.2, -0.5], step=1e-3).run(0.2, record=path)
    found = Log.load(path)
    for name in ROWS:
        assert np.array_equal(getattr(found, name), getattr(log, name))
    assert found.info["integrator"] == log.info["integrator"]


def test_viewers_get_joints_transforms_energy_gap_and_wrenches(tmp_path):
    log = motion("linkage")
    found = decoded(log.to_mcap(tmp_path / "run.mcap"))
    model, names = log.model, log.model.joint_names
    last = model.link_names[-1]
    assert set(found) == {
        "/ada/state", "/events", "/robot_description", "/joint_states", "/tf", "/energy", "/loop_gap",
        f"/wrench/{last}", "/wrench/contact/heel", "/wrench/contact/toe",
    }  # fmt: skip
    times, joints = zip(*found["/joint_states"], strict=True)
    assert np.allclose(times, log.t, atol=1e-9)
    assert joints[3].header.stamp.sec + 1e-9 * joints[3].header.stamp.nanosec == pytest.approx(log.t[3])
    assert joints[3].name == names
    for field, rows in (("position", log.q), ("velocity", log.v), ("effort", log.tau)):
        assert np.array_equal([getattr(j, field) for j in joints], rows)
    energy = np.array([m.data for _, m in found["/energy"]])
    assert np.allclose(energy, np.stack([*log.energy, log.total_energy], axis=1), atol=1e-14)
    assert np.allclose([m.data for _, m in found["/loop_gap"]], log.loop_gap, atol=1e-15)
    wrench = found[f"/wrench/{last}"][5][1]
    assert wrench.header.frame_id == last
    own = [*(getattr(wrench.wrench.force, k) for k in "xyz"), *(getattr(wrench.wrench.torque, k) for k in "xyz")]
    assert own == log.external[last][5].tolist()
    assert found["/wrench/contact/heel"][0][1].header.frame_id == "contact/heel"
    assert [next(iter(json.loads(m.data))) for _, m in found["/events"]] == ["singular", "event", "singular"]
    assert "<robot" in found["/robot_description"][0][1].data
    with (tmp_path / "run.mcap").open("rb") as file:
        channels = mcap_reader.make_reader(file).get_summary().channels.values()
    assert [one.topic for one in channels if "durability: 1" in str(one.metadata)] == ["/robot_description"]


def test_transforms_are_the_poses_of_all_links_and_contacts(tmp_path):
    log = motion("floating")
    message = decoded(log.to_mcap(tmp_path / "run.mcap"))["/tf"][25][1]
    poses = {link: T for link, T in log.dynamics.forward_kinematics(log.q[25]).items() if link != "world"}
    found = {one.child_frame_id: one for one in message.transforms}
    assert set(found) == {*poses, "contact/heel", "contact/toe"}
    assert all(one.header.frame_id == "world" for one in message.transforms)
    for link, T in poses.items():
        place, turn = found[link].transform.translation, found[link].transform.rotation
        assert np.allclose([place.x, place.y, place.z], T[:3, 3], atol=1e-15)
        w, u = turn.w, np.array([turn.x, turn.y, turn.z])
        cross = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
        assert np.allclose((w * w - u @ u) * np.eye(3) + 2 * np.outer(u, u) + 2 * w * cross, T[:3, :3], atol=1e-14)
    place, frame = found["contact/heel"].transform.translation, log.contact_frames["heel"]
    T = poses[frame.link]
    assert np.allclose([place.x, place.y, place.z], T[:3, 3] + T[:3, :3] @ frame.xyz, atol=1e-15)


def test_viewers_get_no_more_than_their_rate_and_the_state_has_every_row(tmp_path):
    log = motion("arm")
    path = log.to_mcap(tmp_path / "run.mcap", rate=10.0)
    found = decoded(path)
    times = [t for t, _ in found["/tf"]]
    assert np.allclose(times, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert sum(m.layout.dim[0].size for _, m in found["/ada/state"]) == 60
    table = np.concatenate([np.reshape(m.data, [d.size for d in m.layout.dim]) for _, m in found["/ada/state"]])
    assert np.array_equal(table[:, :4], np.column_stack([log.t, log.q]))


def test_joints_of_several_coordinates_move_by_transforms_alone(tmp_path):
    found = decoded(motion("mixed").to_mcap(tmp_path / "run.mcap"))
    assert found["/joint_states"][0][1].name == ["joint, prismatic", "joint, continuous"]
    assert "/wrench/of_continuous" in found  # a name that ROS allows


def messages_of_all_kinds():
    """Kinds, encoded messages, and the numbers and texts in the first one."""
    rng = np.random.default_rng(3)
    times, stamp = [1_500_000_000, 0, 2_000_000_001], [1, 500_000_000]
    x = rng.normal(size=(3, 21))
    first = x[0].tolist()
    joints = messages.joint_state(["a", "bc", "def"])
    values = {"position": x[:, :3], "velocity": x[:, 3:6], "effort": x[:, 6:9]}
    yield messages.JOINT_STATE, joints.fill(times, values), [*stamp, "", "a", "bc", "def", *first[:9]]
    empty = messages.joint_state([]).fill(times, dict.fromkeys(("position", "velocity", "effort")))
    yield messages.JOINT_STATE, empty, [*stamp, ""]
    moves = messages.transforms("world", ["one", "Größe"]).fill(times, {"one": x[:, :7], "Größe": x[:, 7:14]})
    head = [*stamp, "world"]
    yield messages.TRANSFORMS, moves, [*head, "one", *first[:7], *head, "Größe", *first[7:14]]
    yield messages.WRENCH, messages.wrench("hand").fill(times, {"wrench": x[:, :6]}), [*stamp, "hand", *first[:6]]
    some = messages.vectors({"label": 3}).fill(times, {"data": x[:, :3]})
    yield messages.NUMBERS, some, ["label", 3, 3, 0, *first[:3]]
    yield messages.NUMBER, messages.number().fill(times, {"data": x[:, :1]}), first[:1]
    yield messages.TEXT, [messages.text_message("größer"), messages.text_message("")], ["größer"]
    tables = [messages.table_message(x), messages.table_message(x[:0])]
    yield messages.NUMBERS, tables, ["rows", 3, 63, "columns", 21, 21, 0, *x.ravel().tolist()]


def leaves(message):
    """Numbers and texts of a message of ROS or of mcap_ros2, in their order."""
    if isinstance(message, (str, int, float)):
        return [message]
    if hasattr(message, "__slots__"):
        names = [name.lstrip("_") for name in message.__slots__ if name != "_check_fields"]
        return [leaf for name in names for leaf in leaves(getattr(message, name))]
    return [leaf for one in message for leaf in leaves(one)]


@pytest.mark.ros
@pytest.mark.parametrize(("kind", "raw", "content"), messages_of_all_kinds())
def test_messages_are_byte_for_byte_those_of_ros(kind, raw, content):
    serialization = pytest.importorskip("rclpy.serialization")
    package, _, name = kind.split("/")
    cls = getattr(pytest.importorskip(f"{package}.msg"), name)
    assert leaves(serialization.deserialize_message(raw[0], cls)) == content
    for one in raw:
        again = serialization.serialize_message(serialization.deserialize_message(one, cls))
        # Gaps before aligned numbers and the end of its buffer hold anything in its encoding; gaps are zeros in ours.
        assert all(own in (theirs, 0) for own, theirs in zip(one, again[: len(one)], strict=True))


@pytest.mark.parametrize(("kind", "raw", "content"), messages_of_all_kinds())
def test_the_decoder_of_mcap_reads_all_messages(kind, raw, content):
    from mcap_ros2._dynamic import generate_dynamic

    decoder = generate_dynamic(kind, messages.DEFINITIONS[kind])[kind]
    assert leaves(decoder(raw[0])) == content


@pytest.mark.ros
@pytest.mark.parametrize("kind", messages.DEFINITIONS)
def test_definitions_name_the_fields_of_ros(kind):
    package, _, name = kind.split("/")
    cls = getattr(pytest.importorskip(f"{package}.msg"), name)
    own = messages.DEFINITIONS[kind].split("=" * 80)[0].split("\n")
    found = dict(reversed(line.split()) for line in own if line)
    plain = {"double": "float64", "sequence<double>": "float64[]", "sequence<string>": "string[]"}
    assert {k: plain.get(v, v).replace("sequence<", "").replace(">", "[]" if "<" in v and v not in plain else "")
            for k, v in cls.get_fields_and_field_types().items()} == found  # fmt: skip


def test_memory_does_not_grow_while_rows_are_only_recorded(tmp_path):
    model = robot("arm")
    x = np.zeros((1000, 3))
    with McapRecorder(tmp_path / "run.mcap", model, rate=5.0) as recorder:
        buffer = LogBuffer(model, keep=False)

        def run(first, last):
            for second in range(first, last):
                for receiver in (buffer, recorder):
                    receiver.append(Log(model, second + np.arange(1000) * 1e-3, x, x, x, x))

        run(0, 20)  # kernels, tables
        tracemalloc.start()
        run(20, 30)
        before = tracemalloc.get_traced_memory()[0]
        run(30, 130)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    assert len(Log(**buffer.content())) == 2
    assert grown < 20_000  # 100 000 rows are 10 MB
    assert len(Log.load(tmp_path / "run.mcap")) == 130_000


def test_an_error_in_the_run_ends_the_recording_with_all_rows_and_the_reason(tmp_path):
    log, path = motion("arm"), tmp_path / "run.mcap"
    with pytest.raises(ZeroDivisionError), McapRecorder(path, log.model) as recorder:
        recorder.append(log)
        _ = 1 / 0
    found = Log.load(path)
    assert len(found) == 60
    assert found.info["ended_by"] == "ZeroDivisionError: division by zero"


def test_misuse_is_refused(tmp_path, monkeypatch):
    log, path = motion("arm"), tmp_path / "run.mcap"
    recorder = McapRecorder(path, log.model)
    recorder.close()
    recorder.close()  # once more does no harm
    for refused in (
        lambda: McapRecorder(path, log.model, rate=0),
        lambda: recorder.append(log),
    ):
        with pytest.raises(InputError):
            refused()
    with pytest.raises(RecordingError):
        McapRecorder(tmp_path / "no_such_folder" / "run.mcap", log.model)
    monkeypatch.setitem(sys.modules, "mcap.writer", None)
    with pytest.raises(InputError):
        McapRecorder(path, log.model)


def test_a_table_that_ends_too_early_is_no_table():
    raw = messages.table_message(np.zeros((2, 3)))
    for data in (*(raw[:size] for size in range(4, len(raw))), b"\x00\x00\x00\x00"):
        with pytest.raises(ValueError):
            messages.read_table(data)


def test_the_whole_model_is_in_a_recording(tmp_path):
    for name in ("pa10", "stewart", "cassie_leg"):
        model = ada.load(name)
        text = model_to_text(model)
        again = model_from_text(text)
        assert model_to_text(again) == text
        assert again.joint_names == model.joint_names
        assert again.actuated == model.actuated
        assert all((again.joints[j].rotation == model.joints[j].rotation).all() for j in model.joints)
    content = json.loads(text)
    content["joints"][0]["kind"] = "magic"
    for text in (json.dumps(content), "[]"):
        with pytest.raises(ada.ModelError):
            model_from_text(text)
