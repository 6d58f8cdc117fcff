# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""Whatever stands in a URDF, reading it gives a usable model or an AdaError, and nothing else."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ada_dynamics import AdaError
from ada_dynamics.robots.catalogue import entry
from ada_dynamics.robots.check import check
from ada_dynamics.robots.readers import read_document

quickly = settings(max_examples=60, suppress_health_check=list(HealthCheck))
thoroughly = settings(suppress_health_check=list(HealthCheck))  # as many as the profile says

SEED = b"""<robot name="r" version="1.2"><link name="a"/><link name="b"><inertial><origin xyz="0 0 1" rpy="0 1 0"/>
<mass value="1.5"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0.1" iyz="0"/></inertial><visual><geometry><box
size="1 1 1"/></geometry></visual></link><link name="c"/><joint name="j" type="revolute"><parent link="a"/><child
link="b"/><origin xyz="0 0 1" quat_xyzw="0 0 0 1"/><axis xyz="0 1 0"/><limit lower="-1" upper="1e3" effort="1"
velocity="inf"/><dynamics damping="0.1" friction="0" armature="1"/></joint><joint name="k" type="prismatic"><parent
link="b"/><child link="c"/><limit lower="-1" upper="1"/><mimic joint="j" multiplier="2" offset="0.1"/></joint>
<transmission name="t"><joint name="j"/><actuator name="x"><drake:rotor_inertia value="1"/></actuator></transmission>
</robot>"""
SEEDS = (SEED, entry("pa10").path.read_bytes())


def exercise(document: bytes | str) -> None:
    """Read, build and check; every exception but an AdaError fails the test."""
    try:
        builder = read_document(document, "URDF text")
    except AdaError:
        is_readable = False
    else:
        is_readable = True
        for base in ("fixed", "floating"):
            try:
                model = builder.build(base)
            except AdaError:
                is_readable = False
                continue
            assert len(model.tree.frames) >= len(model.links)
            q, v = model.random_state(np.random.default_rng(1))
            assert np.isfinite(q).all()
            assert np.isfinite(model.integrate(q, v, 0.01)).all()
            assert not model.position_problems(model.neutral())
    text = document if isinstance(document, str) else document.decode("utf-8", "replace")
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        report = check(text, base="floating")
        assert str(report) and report.to_dict()
        if not isinstance(document, bytes) and report.ok:
            assert is_readable, "the check has no errors, yet the document cannot be read"


FRAGMENTS = [
    b"\x00", b"<", b">", b'"', b"&", b"]]>", b"<!--", b"<![CDATA[", b"<?", b"<!DOCTYPE r [<!ENTITY e 'x'>]>", b"&e;",
    b"\xff", b"\xef\xbb\xbf", b"nan", b"inf", b"-", b"1e400", b"1e-400", b"9" * 500, b"</robot>", b"<robot>", b"<link name='b'/>",
    b"type='spherical'", b"floating", b"planar", b"universal", b"0 0 0", b" ", b"\n", "リンク".encode(), "é".encode("latin-1"),
    b"<?xml version='1.0' encoding='utf-16'?>", b"<a>" * 300, b"<mimic joint='k'/>", b"xmlns='u' ", b"${x}",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        stop = min(start + draw(st.sampled_from([0, 1, 2, 8, 40, 400])), len(data))
        match draw(st.sampled_from(["cut", "paste", "overwrite", "repeat", "flip"])):
            case "cut":
                del data[start:stop]
            case "paste":
                data[start:start] = draw(st.sampled_from(FRAGMENTS))
            case "overwrite":
                data[start:stop] = draw(st.sampled_from(FRAGMENTS))
            case "repeat":
                data[start:start] = data[start:stop]
            case "flip" if start < len(data):
                data[start] ^= draw(st.integers(1, 255))
    return bytes(data)


NAMES = st.sampled_from(["a", "b", "c", "d", "world", "root_joint", "", " ", "名"])
NUMBERS = st.one_of(
    st.sampled_from(["0", "1", "-1", "0.1", "1e30", "-1e30", "1e-320", "1e31", "nan", "inf", "-inf", "x", "", "1 1", "3.14159"]),
    st.floats(-100, 100).map(repr),
    st.floats().map(repr),
)  # fmt: skip
VECTORS = st.one_of(
    st.lists(NUMBERS, min_size=3, max_size=3).map(" ".join), st.lists(NUMBERS, max_size=5).map(" ".join)
)
KINDS = st.sampled_from(
    "revolute continuous prismatic fixed floating planar spherical universal cylindrical bad".split()  # noqa: SIM905
)


def element(tag: str, children: str = "", **attributes: str) -> str:
    shown = "".join(f' {name.rstrip("_")}="{value}"' for name, value in attributes.items())
    return f"<{tag}{shown}>{children}</{tag}>"


@st.composite
def some(draw: st.DrawFn, *parts: st.SearchStrategy[str]) -> str:
    return "".join(draw(p) * draw(st.sampled_from([0, 1, 1, 1, 1, 1, 1, 2])) for p in parts)


def build(tag: str, children: st.SearchStrategy[str] | None = None, **attributes: st.SearchStrategy[str]):
    return st.builds(element, st.just(tag), children if children is not None else st.just(""), **attributes)


ORIGIN = st.one_of(build("origin", xyz=VECTORS, rpy=VECTORS), build("origin", xyz=VECTORS, quat_xyzw=VECTORS))
MOMENTS = dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), NUMBERS)
INERTIAL = build("inertial", some(ORIGIN, build("mass", value=NUMBERS), build("inertia", **MOMENTS)))
SHAPE = st.one_of(
    build("box", size=VECTORS),
    build("cylinder", radius=NUMBERS, length=NUMBERS),
    build("capsule", radius=NUMBERS, length=NUMBERS),
    build("sphere", radius=NUMBERS),
    build("mesh", filename=NAMES),
)
VISUAL = build("visual", some(ORIGIN, build("geometry", SHAPE)))
LINK = build("link", some(INERTIAL, VISUAL), name=NAMES)
JOINT = build(
    "joint",
    some(
        build("parent", link=NAMES),
        build("child", link=NAMES),
        ORIGIN,
        build("axis", xyz=VECTORS),
        build("axis2", xyz=VECTORS),
        build("limit", lower=NUMBERS, upper=NUMBERS, effort=NUMBERS, velocity=NUMBERS),
        build("dynamics", damping=NUMBERS, friction=NUMBERS, armature=NUMBERS),
        build("mimic", joint=NAMES, multiplier=NUMBERS, offset=NUMBERS),
    ),
    name=NAMES,
    type=KINDS,
)
ROBOT = st.lists(st.one_of(LINK, JOINT), max_size=8).map(lambda parts: element("robot", "".join(parts), name="r"))

GOOD_NUMBERS = st.one_of(
    st.floats(-10, 10), st.floats(-1e30, 1e30), st.sampled_from([0.0, 1.0, -1.0, 1e-320, 1e30])
).map(repr)


@st.composite
def sound_tree(draw: st.DrawFn) -> str:
    """A tree whose numbers are readable but may be absurd."""

    def numbers(n: int = 3) -> str:
        return " ".join(draw(GOOD_NUMBERS) for _ in range(n))

    count = draw(st.integers(1, 6))
    parts = []
    for i in range(count):
        moments = {name: draw(GOOD_NUMBERS) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")}
        inner = element("origin", xyz=numbers(), rpy=numbers()) + element("mass", value=draw(GOOD_NUMBERS))
        inertial = element("inertial", inner + element("inertia", **moments)) if draw(st.booleans()) else ""
        parts.append(element("link", inertial, name=f"l{i}"))
        if i:
            ends = element("parent", link=f"l{draw(st.integers(0, i - 1))}") + element("child", link=f"l{i}")
            more = element("origin", xyz=numbers(), rpy=numbers()) + element("axis", xyz=numbers())
            more += element("dynamics", armature=str(abs(float(draw(GOOD_NUMBERS)))))
            more += element(
                "limit", lower=str(-abs(float(draw(GOOD_NUMBERS)))), upper=str(abs(float(draw(GOOD_NUMBERS))))
            )
            parts.append(element("joint", ends + more, name=f"j{i}", type=draw(KINDS.filter(lambda k: k != "bad"))))
    return element("robot", "".join(draw(st.permutations(parts))), name="r")


@quickly
@given(mutated())
def test_a_document_with_random_edits_is_read_or_refused(document):
    exercise(document)


@quickly
@given(ROBOT)
def test_a_document_of_the_right_words_in_any_order_is_read_or_refused(document):
    exercise(document)


MASSES_THAT_CANCEL = """<robot name="r"><link name="l0"/>
<link name="l1"><inertial><mass value="1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="prismatic"><parent link="l0"/><child link="l1"/><axis xyz="0 0 0"/>
<dynamics armature="2.4559333186448665e-256"/><limit lower="0" upper="0"/></joint>
<link name="l2"><inertial><origin xyz="0 0 2.101193581421641e+26"/><mass value="-1"/>
<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j2" type="prismatic"><parent link="l1"/><child link="l2"/><axis xyz="0 0 0"/>
<limit lower="0" upper="0"/></joint></robot>"""


@quickly
@given(sound_tree())
@example(MASSES_THAT_CANCEL)
def test_a_tree_with_absurd_numbers_is_read_or_refused(document):
    exercise(document)


@pytest.mark.fuzz
@thoroughly
@given(st.one_of(mutated(), ROBOT, sound_tree(), st.binary(max_size=200), st.text(max_size=60)))
def test_documents_of_all_sorts_are_read_or_refused(document):
    exercise(document)
