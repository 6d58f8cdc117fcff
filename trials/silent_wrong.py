# SPDX-License-Identifier: Apache-2.0
"""python -m trials.silent_wrong [--count N] [--seed S] [--report FILE]: mutated robots and states, judged by pinocchio.

Each case takes the URDF of a robot, breaks it in one to three places, and asks the library and pinocchio, which reads
the same text with a reader of its own. The library may refuse by an error of its own, or be right; wrong and silent it
may never be. A report goes on where it ended, and a case comes again by its seed and number.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError

AGREES, REFUSED, NO_JUDGE, WRONG = "agrees", "refused", "no judge", "SILENT WRONG"
EPS = float(np.finfo(float).eps)
# Roundings of both sides for each joint, of the size of the largest part of the sum.
ROUNDINGS = 10.0
# Where some joint moves a smaller part of all inertia than this, accelerations have no digits that a judge may count.
KNOWN = 1e10
TINY = 1e-300
_FACTORS = (-1.0, 0.0, 1e-9, 1e-3, 0.5, 2.0, 1e3, 1e9)
_WORDS = ("nan", "inf", "-1e308", "1e-320", "", "zero", "1,5", "0x10")
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "ball", "Revolute")
_NUMBERS = ("origin", "axis", "mass", "inertia")


class Verdict(NamedTuple):
    """Of a case: why, and the largest difference as a part of what roundings explain."""

    verdict: str
    reason: str = ""
    figure: float = 0.0


def sources() -> dict[str, str]:
    """Texts of robots without loops: ours, and other people's where example-robot-data is installed."""
    import pinocchio

    share = Path(pinocchio.__file__).parents[4] / "share/example-robot-data/robots"
    ours = Path(ada.__file__).parents[1] / "urdf"
    found = {}
    for path in [*sorted(ours.glob("*.urdf")), *sorted(share.rglob("*.urdf"))]:
        text = path.read_text(encoding="utf-8", errors="replace")
        if not any(word in text for word in ("<mimic", "loop_joint", "<loop", "xacro:")):
            found[path.stem] = _bare(text)
    return found


def _bare(text: str) -> str:
    """Bodies and joints alone: pictures are not judged, and friction is no part of the judge's equations."""
    root = ET.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("visual", "collision", "dynamics", "material", "gazebo", "transmission"):
                parent.remove(child)
    return ET.tostring(root, encoding="unicode")


def mutated(text: str, rng: np.random.Generator) -> tuple[str, list[str]]:
    """The text with one to three mutations, and what they are."""
    root, done = ET.fromstring(text), []
    for _ in range(int(rng.integers(1, 4))):
        how = _MUTATIONS[int(rng.integers(len(_MUTATIONS)))]
        done.append(how(root, rng))
    return ET.tostring(root, encoding="unicode"), done


def _one(found: list[Any], rng: np.random.Generator) -> Any:
    return found[int(rng.integers(len(found)))] if found else None


def _number(root: ET.Element, rng: np.random.Generator) -> str:
    """One number of an inertia, a mass, an axis or a place becomes another, or no number."""
    element = _one([x for x in root.iter() if x.tag in _NUMBERS and x.attrib], rng)
    if element is None:
        return "nothing left to change"
    name = _one(sorted(element.attrib), rng)
    words = element.attrib[name].split() or ["0"]
    place = int(rng.integers(len(words)))
    try:
        new = repr(float(words[place]) * _one(list(_FACTORS), rng))
    except ValueError:
        new = "1"
    words[place] = _one(list(_WORDS), rng) if rng.random() < 0.15 else new
    element.attrib[name] = " ".join(words)
    return f"{element.tag} {name}={element.attrib[name]!r}"


def _type(root: ET.Element, rng: np.random.Generator) -> str:
    joint = _one(root.findall("joint"), rng)
    if joint is None:
        return "no joint left"
    joint.attrib["type"] = _one(list(_TYPES), rng)
    if joint.find("limit") is None:  # without which the judge reads neither revolute nor prismatic joints
        ET.SubElement(joint, "limit", lower="-1", upper="1", effort="1", velocity="1")
    return f"joint {joint.get('name')} type={joint.attrib['type']!r}"


def _parent(root: ET.Element, rng: np.random.Generator) -> str:
    joint, link = _one(root.findall("joint"), rng), _one(root.findall("link"), rng)
    end = None if joint is None else joint.find("parent" if rng.random() < 0.7 else "child")
    if end is None or link is None:
        return "no joint left"
    end.attrib["link"] = str(link.get("name"))
    return f"joint {joint.get('name')} {end.tag}={end.attrib['link']!r}"


def _without(root: ET.Element, rng: np.random.Generator) -> str:
    parents = [x for x in root.iter() if len(x) and (x is not root or rng.random() < 0.2)]
    parent = _one(parents, rng)
    if parent is None:
        return "nothing left to drop"
    child = _one(list(parent), rng)
    parent.remove(child)
    return f"{parent.tag} {parent.get('name')} without {child.tag} {child.get('name')}"


def _without_attribute(root: ET.Element, rng: np.random.Generator) -> str:
    element = _one([x for x in root.iter() if x.attrib], rng)
    if element is None:
        return "nothing left to drop"
    name = _one(sorted(element.attrib), rng)
    del element.attrib[name]
    return f"{element.tag} without {name}"


def _same_name(root: ET.Element, rng: np.random.Generator) -> str:
    kind = "link" if rng.random() < 0.5 else "joint"
    one, other = (_one(root.findall(kind), rng) for _ in range(2))
    if one is None or "name" not in one.attrib:
        return "nothing left to rename"
    one.attrib["name"] = str(other.get("name"))
    return f"{kind} named {one.attrib['name']!r} twice"


_MUTATIONS: tuple[Callable[[ET.Element, np.random.Generator], str], ...]
_MUTATIONS = (*[_number] * 8, _type, _parent, _without, _without_attribute, _same_name)


def _read(pin: Any, text: str) -> Any:
    """pinocchio's model. Its reader goes on after what it calls an error, with zeros: such a text it has not read."""
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            model = pin.buildModelFromXML(text)
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        said.seek(0)
        problems = said.read().decode(errors="replace")
    if "Error" in problems:
        raise ValueError(problems)
    return model


class Judge:
    """pinocchio's model of a text, with positions and velocities by the names of joints."""

    def __init__(self, text: str) -> None:
        """Raises: whatever pinocchio raises where it does not read the text."""
        import pinocchio as pin

        self.pin: Any = pin
        self.model = _read(pin, text)
        if _has_negative_mass(text):
            raise ValueError("it divides by masses, and takes negative ones for the smallest number")
        self.data = self.model.createData()

    def places(self, model: ada.Model) -> tuple[list[int], list[int]] | None:
        """Where the judge has each of the library's positions and velocities; None where they mean something else."""
        names = {str(name): self.model.joints[i] for i, name in enumerate(self.model.names) if i}
        moving = [name for name in model.joint_names if len(range(model.nv)[model.v_index(name)])]
        if sorted(moving) != sorted(names) or model.nv != self.model.nv:
            return None
        q_at, v_at = [0] * model.nq, [0] * model.nv
        for name in moving:
            q, v = range(model.nq)[model.q_index(name)], range(model.nv)[model.v_index(name)]
            joint = names[name]
            if len(q) != 1 or len(v) != 1 or joint.nv != 1:
                return None  # free bodies and planes: other coordinates
            q_at[q[0]], v_at[v[0]] = (joint.idx_q if joint.nq == 1 else ~joint.idx_q), joint.idx_v
        return q_at, v_at

    def positions(self, q_at: list[int], q: Array) -> Array:
        """The judge's positions; joints that turn without end have cosine and sine there."""
        found = np.zeros(self.model.nq)
        for place, x in zip(q_at, q, strict=True):
            if place >= 0:
                found[place] = x
            else:
                found[~place], found[~place + 1] = np.cos(x), np.sin(x)
        return found


def _has_negative_mass(text: str) -> bool:
    return any(float(mass.get("value", "0")) < 0.0 for mass in ET.fromstring(text).iter("mass"))


def judged(text: str, rng: np.random.Generator) -> Verdict:
    """What the library makes of a text, and of a state of it."""
    try:
        model = ada.load(text)
        dynamics = ada.Dynamics(model, kernel="generic")
        scale = [_one([0.0, 1e-6, 1.0, 1e3], rng) for _ in range(2)]
        q = model.random_state(rng)[0]
        if model.nq == model.nv:  # no quaternion among them
            q = rng.uniform(-np.pi, np.pi, model.nq) * _one([1.0, 1e-8, 1e3], rng)
        v, a = (size * rng.normal(size=model.nv) for size in scale)
        tau = dynamics.inverse(q, v, a)
        found = dynamics.forward(q, v, tau)
    except AdaError as error:
        return Verdict(REFUSED, f"{type(error).__name__}: {error}"[:200])
    except Exception as error:  # any other one is a fault of the library
        return Verdict(WRONG, f"{type(error).__name__}: {error}"[:200])
    try:
        judge = Judge(text)
    except Exception as error:
        return Verdict(NO_JUDGE, f"pinocchio: {error}"[:200])
    places = judge.places(model)
    if places is None:
        return Verdict(NO_JUDGE, "other joints or coordinates")
    return _compared(judge, places, (q, v, a, tau, found))


def _compared(judge: Judge, places: tuple[list[int], list[int]], given: tuple[Array, ...]) -> Verdict:
    """Efforts against the judge's, by the sizes of their parts; accelerations by the efforts that they need."""
    q_at, v_at = places
    q, (v, a, tau, found) = judge.positions(q_at, given[0]), (np.empty(judge.model.nv) for _ in range(4))
    for mine, theirs in zip((v, a, tau, found), given[1:], strict=True):
        mine[v_at] = theirs
    pin, model, data = judge.pin, judge.model, judge.data
    needed = pin.rnea(model, data, q, v, a).copy()
    again = pin.rnea(model, data, q, v, found).copy()
    mass = pin.crba(model, data, q).copy()
    mass = np.triu(mass) + np.triu(mass, 1).T
    if not all(np.isfinite(x).all() for x in (needed, again, mass)):
        return Verdict(NO_JUDGE, "the judge's numbers overflow")
    size, weight = _sizes(judge, q)
    speed = float(np.abs(v).sum()) ** 2
    roundings = ROUNDINGS * EPS * max(model.njoints, 4)
    inverse = float(np.abs(tau - needed).max()) / (
        roundings * (size * (float(np.abs(a).sum()) + speed) + weight) + TINY
    )
    # What rounds off in inertias as large as these is seen by the joint that moves the least of them.
    condition = size / max(float(np.linalg.eigvalsh(mass)[0]), TINY)
    if not condition < KNOWN:
        figure, reason = inverse, "efforts alone: to the judge, some joint moves next to nothing"
    else:
        room = roundings * condition * (size * (float(np.abs(found).sum()) + speed) + weight) + TINY
        figure, reason = max(inverse, float(np.abs(again - tau).max()) / room), ""
    return Verdict(AGREES if figure <= 1.0 else WRONG, reason, figure)


def _sizes(judge: Judge, q: Array) -> tuple[float, float]:
    """Inertia and weight [N m] of everything at the end of all its levers: no part of a sum is larger."""
    bodies = judge.model.inertias
    levers = [float(np.linalg.norm(x.translation)) for x in judge.model.jointPlacements]
    reach = 1.0 + sum(levers) + float(np.abs(q).max()) + sum(float(np.linalg.norm(x.lever)) for x in bodies)
    masses = sum(x.mass for x in bodies)
    turned = sum(float(np.abs(x.inertia).max()) for x in bodies)
    return masses * reach**2 + turned, 9.81 * masses * reach


def case(texts: dict[str, str], seed: int, number: int) -> dict[str, Any]:
    """One case, as a line of the report."""
    rng = np.random.default_rng([seed, number])
    robot = _one(sorted(texts), rng)
    text, mutations = mutated(texts[robot], rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = judged(text, rng)
    return {"seed": seed, "case": number, "robot": robot, "mutations": mutations, **found._asdict()}


def main() -> int:
    """Run cases, and tell how they ended; 1 where one was silently wrong."""
    parser = argparse.ArgumentParser(prog="python -m trials.silent_wrong", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="cases in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of robots, mutations and states (default: %(default)s)")
    parser.add_argument("--report", type=Path, help="JSON lines, a line a case; one that exists is gone on with")
    parser.add_argument("--case", type=int, help="this one alone")
    options = parser.parse_args()
    texts = sources()
    if options.case is not None:
        print(json.dumps(case(texts, options.seed, options.case), indent=2))
        return 0
    begun = options.report.read_text().splitlines() if options.report and options.report.exists() else []
    rows = [json.loads(line) for line in begun]
    start = time.monotonic()
    for number in range(len(rows), options.count):
        rows.append(case(texts, options.seed, number))
        if options.report:
            with options.report.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
        if rows[-1]["verdict"] == WRONG:
            print(json.dumps(rows[-1]), flush=True)
    counts = Counter(row["verdict"] for row in rows)
    for verdict in (AGREES, REFUSED, NO_JUDGE, WRONG):
        print(f"{verdict:<14}{counts[verdict]:>9}")
    print(
        f"{len(texts)} robots, seed {options.seed}, {len(rows) - len(begun)} cases in {time.monotonic() - start:.0f} s"
    )
    return int(counts[WRONG] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
