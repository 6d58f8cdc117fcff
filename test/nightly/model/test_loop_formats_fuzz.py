# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in a file with loops, reading it gives a model or an AdaError in bounded time, and nothing else."""

import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loop_robots import random_robot

import ada_dynamics as ada
from ada_dynamics import AdaError
from ada_dynamics.robots.readers.urdf_loops import KINDS
from ada_dynamics.robots.writers import render
from ada_dynamics.robots.writers.urdf import to_json

pytest.importorskip("yaml")

quickly = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
thoroughly = settings(deadline=None, suppress_health_check=list(HealthCheck))  # as many as the profile says

SIMPLE = ("revolute", "continuous", "prismatic", "fixed")
BESIDE = render(random_robot(0), "sidecar").texts
DOCUMENTS = (
    render(random_robot(1, ("revolute", "spherical", "fixed"), SIMPLE), "mjcf").texts[".xml"],
    render(random_robot(2, KINDS), "constraint").texts[".urdf"],
    render(random_robot(2, KINDS), "loop_joint").texts[".urdf"],
    render(random_robot(3, ("revolute", "fixed"), extras=False), "urdf_plus").texts[".urdf"],
    render(random_robot(4, ("revolute",), SIMPLE, closed=True, extras=False), "sdf").texts[".sdf"],
)
SIDECARS = (
    (BESIDE[".loops.yaml"], "x.yaml"),
    (to_json(random_robot(0)), "x.json"),
    ("closed_loop: [[link_1, link_2]]\ntype: ['6d']\nname_mot: [joint_1]\njoint_name: [joint_2]\n", "x.yaml"),
)
WORDS = "1e400 nan world link_1 joint_1 fixed universal ball free é <joint <body <axis &a *a true type"
FRAGMENTS = [*'"<>/[]{}:-0,&*!?|#', *WORDS.split(), "\x00", "\n", "  ", "0 0 0", 'name="a"', "!!x ", "<<: ", "---\n"]

edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 60), st.sampled_from(FRAGMENTS) | st.floats(0, 1)), min_size=1, max_size=4
)


def edited(text, changes):
    """Pieces cut out, overwritten by fragments, or repeated elsewhere."""
    for place, length, what in changes:
        start = int(place * len(text))
        piece = text[start : start + length]
        if isinstance(what, str):
            text = text[:start] + what + text[start + length :]
        else:
            target = int(what * len(text))
            text = text[:target] + piece + text[target:]
    return text


def read(text):
    if not text.lstrip().startswith("<"):
        text = f"<{text}"
    with contextlib.suppress(AdaError):
        assert len(ada.load(text).tree.frames) > 0


def read_beside(text, file):
    file.write_bytes(text.encode("utf-8", "replace"))
    with contextlib.suppress(AdaError):
        assert len(ada.load(BESIDE[".urdf"], loops=file).tree.frames) > 0


@given(st.sampled_from(DOCUMENTS), edits)
@quickly
def test_damaged_documents_are_read_or_refused(document, changes):
    read(edited(document, changes))


@given(st.sampled_from(SIDECARS), edits)
@quickly
def test_damaged_sidecars_are_read_or_refused(tmp_path_factory, sidecar, changes):
    text, name = sidecar
    read_beside(edited(text, changes), tmp_path_factory.getbasetemp() / name)


KEYS = ["loops", "name", "type", "parent", "link", "xyz", "axis", "closed_loop"]
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)


@given(anything)
@quickly
def test_any_python_object_is_read_or_refused(value):
    with contextlib.suppress(AdaError):
        ada.load(BESIDE[".urdf"], loops=value)


@given(anything)
@quickly
def test_any_json_is_read_or_refused(tmp_path_factory, value):
    read_beside(json.dumps(value), tmp_path_factory.getbasetemp() / "any.json")


@pytest.mark.fuzz
@given(st.sampled_from(DOCUMENTS), st.sampled_from(SIDECARS), edits)
@thoroughly
def test_many_damaged_documents_and_sidecars_are_read_or_refused(tmp_path_factory, document, sidecar, changes):
    read(edited(document, changes))
    read_beside(edited(sidecar[0], changes), tmp_path_factory.getbasetemp() / sidecar[1])
