# SPDX-License-Identifier: Apache-2.0
"""Texts of robots and of their loops, and what can be wrong in them."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.writers import render

LONGEST = 20000  # characters: reading longer ones takes the time of many cases
_FACTORS = (-1.0, 0.0, 1e-9, 1e-3, 0.5, 2.0, 1e3, 1e9, 180.0 / math.pi)
_WORDS = ("nan", "inf", "-1e308", "1e-320", "", "zero", "1,5", "0x10", "1_0", "\u0663", "1 2")
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "ball", "Revolute")
_NUMBERS = ("origin", "axis", "mass", "inertia", "dynamics", "mimic")
_LOOP_TYPES = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed", "screw")
_LOOPED = (  # whose joints are all of types that every URDF has
    *("bennett", "five_bar", "four_bar", "hoap2_standing", "ladder", "parallel_gripper"),
    *("slider_crank", "stephenson_six_bar", "watt_six_bar"),
)


class Text(NamedTuple):
    """A robot as it is written, and where its loops are closed."""

    urdf: str
    loops: str | None = None
    q: Array | None = None


@cache
def sources() -> dict[str, Text]:
    """Robots without loops: ours, and other people's where example-robot-data is installed."""
    import pinocchio

    share = Path(pinocchio.__file__).parents[4] / "share/example-robot-data/robots"
    ours = Path(ada.__file__).parents[1] / "urdf"
    found = {}
    for path in [*sorted(ours.glob("*.urdf")), *sorted(share.rglob("*.urdf"))]:
        text = path.read_text(encoding="utf-8", errors="replace")
        if not any(word in text for word in ("loop_joint", "<loop", "xacro:")) and len(bare := _bare(text)) < LONGEST:
            found[path.stem] = Text(bare)
    return found


@cache
def catalogue(name: str) -> mechanisms.Mechanism:
    """A mechanism of the library and a configuration that closes its loops."""
    if hasattr(mechanisms, name):
        made: mechanisms.Mechanism = getattr(mechanisms, name)()
        return made
    model = ada.load(name)
    return mechanisms.Mechanism(model, np.asarray(ada.close_loops(model)))


@cache
def looped() -> dict[str, Text]:
    """Mechanisms as URDF with their loops in YAML."""
    found = {}
    for name in _LOOPED:
        model, q = catalogue(name)
        urdf, loops = render(model, "sidecar").texts.values()
        found[name] = Text(_bare(urdf), loops, np.asarray(q))
    return found


def _bare(text: str) -> str:
    """Without pictures, which nobody judges."""
    root = ET.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("visual", "collision", "material", "gazebo", "transmission"):
                parent.remove(child)
    return ET.tostring(root, encoding="unicode")


def mutated(text: Text, rng: np.random.Generator) -> tuple[Text, list[str]]:
    """The text with one to three mutations, and what they are."""
    root, done = ET.fromstring(text.urdf), []
    loops = None if text.loops is None else yaml.safe_load(text.loops)
    for _ in range(int(rng.integers(1, 4))):
        if loops is not None and rng.random() < 0.8:  # whose poses not many changes leave closed
            links = [str(link.get("name")) for link in root.iter("link")]
            done.append(_of_loops(loops["loops"], links, rng) if rng.random() < 0.5 else _slightly(root, rng))
        else:
            done.append(_MUTATIONS[int(rng.integers(len(_MUTATIONS)))](root, rng))
    written = None if loops is None else yaml.safe_dump(loops, sort_keys=False)
    return Text(ET.tostring(root, encoding="unicode"), written, text.q), done


def one(found: Any, rng: np.random.Generator) -> Any:
    """One of some, or None of none."""
    found = list(found)
    return found[int(rng.integers(len(found)))] if found else None


def _number(root: ET.Element, rng: np.random.Generator) -> str:
    """One number becomes another, or no number."""
    element = one([x for x in root.iter() if x.tag in _NUMBERS and x.attrib], rng)
    if element is None:
        return "nothing left to change"
    name = one(sorted(element.attrib), rng)
    words = element.attrib[name].split() or ["0"]
    place = int(rng.integers(len(words)))
    try:
        new = repr(float(words[place]) * one(_FACTORS, rng))
    except ValueError:
        new = "1"
    words[place] = one(_WORDS, rng) if rng.random() < 0.15 else new
    element.attrib[name] = " ".join(words)
    return f"{element.tag} {name}={element.attrib[name]!r}"


def _slightly(root: ET.Element, rng: np.random.Generator) -> str:
    """Some body weighs more, or some joint stands elsewhere, by a little."""
    element = one([x for x in root.iter() if x.tag in ("mass", "origin", "inertia")], rng)
    name = one(sorted(element.attrib), rng) if element is not None and element.attrib else None
    if name is None:
        return "nothing left to change"
    numbers = np.array(element.attrib[name].split(), dtype=float)
    element.attrib[name] = " ".join(repr(x) for x in (numbers * (1.0 + 0.1 * rng.random())).tolist())
    return f"{element.tag} {name}={element.attrib[name]!r}"


def _units(root: ET.Element, rng: np.random.Generator) -> str:
    """All of one kind in other units."""
    tag, name, factor = one((("origin", "xyz", 1e3), ("origin", "rpy", 180.0 / math.pi), ("mass", "value", 1e3)), rng)
    for element in root.iter(tag):
        if name in element.attrib and rng.random() < 0.8:
            try:
                element.attrib[name] = " ".join(repr(float(x) * factor) for x in element.attrib[name].split())
            except ValueError:
                return "no numbers there"
    return f"{tag} {name} times {factor:g}"


def _axis(root: ET.Element, rng: np.random.Generator) -> str:
    joint = one([x for x in root.findall("joint") if x.get("type") not in ("fixed", "floating")], rng)
    if joint is None:
        return "no joint left"
    axis = joint.find("axis")
    axis = ET.SubElement(joint, "axis") if axis is None else axis
    axis.attrib["xyz"] = " ".join(repr(x) for x in (rng.normal(size=3) * one((1e-7, 1.0, 1e4), rng)).tolist())
    return f"joint {joint.get('name')} axis={axis.attrib['xyz']!r}"


def _type(root: ET.Element, rng: np.random.Generator) -> str:
    joint = one(root.findall("joint"), rng)
    if joint is None:
        return "no joint left"
    joint.attrib["type"] = one(_TYPES, rng)
    if joint.find("limit") is None:  # without which the judge reads neither revolute nor prismatic joints
        ET.SubElement(joint, "limit", lower="-1", upper="1", effort="1", velocity="1")
    return f"joint {joint.get('name')} type={joint.attrib['type']!r}"


def _parent(root: ET.Element, rng: np.random.Generator) -> str:
    joint, link = one(root.findall("joint"), rng), one(root.findall("link"), rng)
    end = None if joint is None else joint.find("parent" if rng.random() < 0.7 else "child")
    if end is None or link is None:
        return "no joint left"
    end.attrib["link"] = str(link.get("name"))
    return f"joint {joint.get('name')} {end.tag}={end.attrib['link']!r}"


def _limits(root: ET.Element, rng: np.random.Generator) -> str:
    limit = one(root.iter("limit"), rng)
    if limit is None:
        return "no limits"
    limit.attrib["lower"], limit.attrib["upper"] = limit.get("upper", "0"), limit.get("lower", "0")
    return f"limits {limit.attrib['lower']} to {limit.attrib['upper']}"


def _adds(tag: str, *names: str) -> Callable[[ET.Element, np.random.Generator], str]:
    """A mutation that gives a joint a mimic or losses."""

    def add(root: ET.Element, rng: np.random.Generator) -> str:
        joint, other = (one(root.findall("joint"), rng) for _ in range(2))
        if joint is None:
            return "no joint left"
        given = {
            name: repr(float(rng.normal())) if tag == "mimic" else repr(float(rng.exponential())) for name in names
        }
        ET.SubElement(joint, tag, ({"joint": str(other.get("name"))} if tag == "mimic" else {}) | given)
        return f"joint {joint.get('name')} {tag} {given} of {other.get('name')}"

    return add


def _without(root: ET.Element, rng: np.random.Generator) -> str:
    parent = one([x for x in root.iter() if len(x) and (x is not root or rng.random() < 0.2)], rng)
    if parent is None:
        return "nothing left to drop"
    child = one(parent, rng)
    parent.remove(child)
    return f"{parent.tag} {parent.get('name')} without {child.tag} {child.get('name')}"


def _without_attribute(root: ET.Element, rng: np.random.Generator) -> str:
    element = one([x for x in root.iter() if x.attrib], rng)
    if element is None:
        return "nothing left to drop"
    name = one(sorted(element.attrib), rng)
    del element.attrib[name]
    return f"{element.tag} without {name}"


def _same_name(root: ET.Element, rng: np.random.Generator) -> str:
    kind = "link" if rng.random() < 0.5 else "joint"
    first, other = (one(root.findall(kind), rng) for _ in range(2))
    if first is None or "name" not in first.attrib:
        return "nothing left to rename"
    first.attrib["name"] = str(other.get("name"))
    return f"{kind} named {first.attrib['name']!r} twice"


_ADDED = (_adds("mimic", "multiplier", "offset"), _adds("dynamics", "damping", "friction"))
_MUTATIONS: tuple[Callable[[ET.Element, np.random.Generator], str], ...] = (
    *([_number] * 8 + [_axis] * 2),
    *(_units, _type, _parent, _limits, *_ADDED, _without, _without_attribute, _same_name),
)


def _of_loops(loops: list[dict[str, Any]], links: list[str], rng: np.random.Generator) -> str:
    """One thing about one loop."""
    loop = one(loops, rng)
    how = one(("number", "number", "number", "type", "link", "twice", "key", "word"), rng)
    end = loop.get(one(("parent", "child"), rng)) or {}
    vectors = [x for x in (loop.get("axis"), end.get("xyz"), end.get("rpy")) if isinstance(x, list)]
    if how == "type":
        loop["type"] = one(_LOOP_TYPES, rng)
        loop.setdefault("axis", rng.normal(size=3).tolist())
    elif how == "link":
        end["link"] = one([*links, "world"], rng)
    elif how == "twice":  # the same conditions again
        loops.append({**loop, "name": f"{loop.get('name')}_again" if rng.random() < 0.8 else loop.get("name")})
    elif how == "key":
        loop.pop(one(sorted(loop), rng))
    elif vectors:
        numbers = one(vectors, rng)
        place = int(rng.integers(len(numbers)))
        numbers[place] = one((math.nan, "one", None, 1e308), rng) if how == "word" else _moved(numbers[place], rng)
    return f"loop {loop.get('name')}: {how} {loop}"[:200]


def _moved(number: Any, rng: np.random.Generator) -> float:
    factor, step = one(((-1.0, 0.0), (0.0, 0.0), (1e3, 0.0), (1.0, 1e-9), (1.0, 0.03), (1.0, 0.3)), rng)
    begun = float(number) if isinstance(number, (int, float)) else 0.0
    moved: float = begun * factor + step * float(rng.normal())
    return moved
