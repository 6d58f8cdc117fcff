# SPDX-License-Identifier: Apache-2.0
"""Inputs that fuzzing found, and loops from any Python object or JSON, are read or refused by name, within bounds."""

import contextlib
import json
import os
import socket
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loop_robots import random_robot

import ada_dynamics as ada
from ada_dynamics import AdaError
from ada_dynamics.robots.writers import render
from trials.fuzz import targets
from trials.fuzz.fence import Escaped, fence
from trials.fuzz.target import CORPUS, CRASHES, Trial, kept


@pytest.mark.parametrize("name", targets.names())
def test_inputs_that_fuzzing_found_are_taken_or_refused_by_name_within_bounds(name, tmp_path):
    target = targets.find(name)
    trial = Trial(target, tmp_path)
    taken = [trial(one) for one in target.seeds()]
    assert any(taken)
    for one in (*kept(CORPUS, name), *kept(CRASHES, name)):
        trial(one)


@pytest.mark.parametrize(
    "act",
    [
        lambda path: path.write_text("x"),
        lambda path: path.parent.joinpath("other").read_bytes(),
        lambda path: os.remove(path),  # noqa: PTH107
        lambda path: socket.socket(),
        lambda path: subprocess.run(["true"], check=False),
    ],
)
def test_the_fence_notices_what_an_input_must_not_do(tmp_path, act):
    with pytest.raises(Escaped), fence():
        act(tmp_path / "file")


ROBOT = render(random_robot(0), "sidecar").texts[".urdf"]
KEYS = ["loops", "name", "type", "parent", "link", "xyz", "axis", "closed_loop"]
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)


@given(anything)
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_python_object_and_any_json_is_read_or_refused(tmp_path_factory, value):
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_bytes(json.dumps(value).encode("utf-8", "replace"))
    for loops in (value, file):
        with contextlib.suppress(AdaError):
            assert len(ada.load(ROBOT, loops=loops).tree.frames) > 0
