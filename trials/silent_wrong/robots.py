# SPDX-License-Identifier: Apache-2.0
"""The robots of the cases: from mutated texts and from mutated parts, each with a judge that reads it by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.model.edit import open_loops, with_parts
from ada_dynamics.model.elements import Limits
from ada_experiments.pinocchio_tree import PinocchioTree
from trials.random_mechanism import random_mechanism
from trials.silent_wrong.judge import NoJudge, TextTree
from trials.silent_wrong.texts import Text, catalogue, looped, mutated, one, sources

PALETTES = (  # kinds of joints together: the generic kernels are compiled for each set of them
    ("revolute", "prismatic"),
    ("revolute", "spherical"),
    ("universal", "planar"),
    ("cylindrical", "revolute"),
    ("helical", "continuous", "fixed"),
)
SPECIFIED = (("pa10", "fixed"), ("pa10", "floating"), ("khr1", "fixed"), ("ur5_robot", "fixed"))
MIMICKED = 13  # velocities; robots with mimics need code of their own
_MECHANISMS = ("stewart", "hexa", "delta", "four_bar", "bennett", "cassie_leg", "ladder", "random", "random", "random")
WITH_SINGULAR_POSES = ("four_bar", "parallel_gripper")
_FACTORS = (-1.0, 0.0, 1e-6, 0.1, 2.0, 1e3, 1e6, float("nan"))


class Refused(Exception):
    """The library raised an error of its own types."""


class Fault(Exception):
    """The library did what it must never do."""


@contextmanager
def library() -> Iterator[None]:
    """Around every call of what is under test."""
    try:
        yield
    except AdaError as error:
        raise Refused(f"{type(error).__name__}: {error}"[:200]) from error
    except Exception as error:
        raise Fault(f"{type(error).__name__}: {error}"[:200]) from error


@dataclass
class Robot:
    """A robot with its judge and its mutations."""

    name: str
    mutations: list[str]
    model: ada.Model
    tree: PinocchioTree
    dynamics: ada.Dynamics
    q: Array | None = None  # near a pose that closes all loops


def from_text(rng: np.random.Generator) -> Robot:
    """A mutated URDF on the generic kernels."""
    name = one(sorted(sources()), rng)
    base = "floating" if rng.random() < 0.3 else "fixed"
    text, done = mutated(sources()[name], rng)
    return _read(f"{name}, {base}", text, done, base, kernel="generic")


def from_looped_text(rng: np.random.Generator) -> Robot:
    """A mutated URDF with mutated loops, on its own kernels."""
    name = one(sorted(looped()), rng)
    text, done = mutated(looped()[name], rng)
    return _read(name, text, done, "fixed")


def _read(name: str, text: Text, done: list[str], base: Any, **how: Any) -> Robot:
    with library():
        model = _loaded(text, base)
        if model.has_mimics and model.nv < MIMICKED:
            how = {}  # the generic kernels have none
        dynamics = ada.Dynamics(model, **how)
    return Robot(name, done, model, TextTree(text.urdf, text.loops, model, base), dynamics, text.q)


def _loaded(text: Text, base: Any) -> ada.Model:
    if text.loops is None:
        return ada.load(text.urdf, base=base)
    with tempfile.TemporaryDirectory() as folder:
        beside = Path(folder) / "robot.loops.yaml"
        beside.write_text(text.loops, encoding="utf-8")
        return ada.load(text.urdf, base=base, loops=beside)


def from_parts(rng: np.random.Generator, **how: Any) -> Robot:
    """A random tree of all kinds of joints with mutated parts."""
    floating = bool(rng.random() < 0.4)
    kinds = one(PALETTES, rng)
    made, _ = random_mechanism(rng, 1, floating=floating, kinds=kinds, losses=True)
    return _built(f"tree of {'/'.join(kinds)}", open_loops(made, ["loop_1"]), None, rng, **how)


def from_looped_parts(rng: np.random.Generator) -> Robot:
    """A mechanism of the catalogue or a random one, with mutated parts."""
    name = one(_MECHANISMS, rng)
    if name == "random":
        spatial = bool(rng.random() < 0.7)
        made, q = random_mechanism(
            rng, int(rng.integers(1, 3)), floating=rng.random() < 0.3, spatial=spatial, losses=True
        )
    else:
        made, q = catalogue(name)
    return _built(name, made, q, rng)


def _built(name: str, model: ada.Model, q: Array | None, rng: np.random.Generator, **how: Any) -> Robot:
    done = []
    with library():
        for _ in range(int(rng.integers(0, 4))):
            part, said = _changed(model, rng)
            model = with_parts(model, part)
            done.append(said)
        dynamics = ada.Dynamics(model, **how)
    return Robot(name, done, model, _described(model), dynamics, q)


def _described(model: ada.Model) -> PinocchioTree:
    """pinocchio's robot of a description."""
    if any(link.mass < 0.0 for link in model.links.values()):
        raise NoJudge("negative masses, which pinocchio takes for the smallest number")
    try:
        return PinocchioTree(model)
    except RuntimeError as problem:
        raise NoJudge(f"pinocchio: {problem}"[:200]) from problem


def _changed(model: ada.Model, rng: np.random.Generator) -> tuple[Any, str]:
    """A link, joint or loop that is not as it was."""
    factor, step = one(_FACTORS, rng), rng.normal(size=3) * one((1e-9, 0.03, 0.3), rng)
    if model.loops and rng.random() < 0.3:
        loop = one(model.loops.values(), rng)
        field = one(("parent_xyz", "child_xyz", "axis"), rng)
        return replace(loop, **{field: getattr(loop, field) + step}), f"loop {loop.name} {field} moved by {step}"
    if rng.random() < 0.4:
        link = one(model.links.values(), rng)
        field = one(("mass", "com", "inertia"), rng)
        return replace(link, **{field: getattr(link, field) * factor}), f"link {link.name} {field} times {factor}"
    joint = one([x for x in model.joints.values() if x.parent in model.links], rng)
    spread = abs(float(rng.normal()))
    changes: dict[str, Any] = {
        "xyz": joint.xyz * factor,
        "axis": joint.axis + step,
        "limits": Limits(1.0, -1.0),
        "damping": spread * factor,
        "friction": spread,
        "armature": spread * abs(factor),
        "stiffness": spread,
    }
    field = one(sorted(changes), rng)
    return replace(joint, **{field: changes[field]}), f"joint {joint.name} {field}={changes[field]}"


@cache
def linkage(name: str) -> Robot:
    """A mechanism of the catalogue as it is."""
    made, q = catalogue(name)
    return Robot(name, [], made, _described(made), ada.Dynamics(made), q)


@cache
def specified(which: int, algorithm: str) -> Robot:
    """A robot as it is, on code of its own by a named algorithm, or on the generic kernels."""
    if which < len(SPECIFIED):
        name, base = SPECIFIED[which]
        how = {"kernel": "generic"} if algorithm == "generic" else {"algorithm": algorithm}
        return _read(f"{name}, {base}, {algorithm}", sources()[name], [], base, **how)
    kind = ("four_bar", "stewart")[which - len(SPECIFIED)]
    model, q = catalogue(kind)
    with library():
        dynamics = ada.Dynamics(model)
    return Robot(kind, [], model, PinocchioTree(model), dynamics, np.asarray(q))
