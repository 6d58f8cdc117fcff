# SPDX-License-Identifier: Apache-2.0
"""Whatever Python object or JSON is given as loops, it is read or refused; `trials/fuzz` damages files."""

import contextlib
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loop_robots import random_robot

import ada_dynamics as ada
from ada_dynamics import AdaError
from ada_dynamics.robots.writers import render

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
