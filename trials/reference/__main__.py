# SPDX-License-Identifier: Apache-2.0
"""python -m trials.reference record|compare FILE: public quantities of 65 models, before and after a change.

`record` writes inputs and results to an .npz file; `compare` computes the results from the recorded inputs again and
prints a table of deviations, with exit status 1 if one exceeds its limit, or if errors or warnings differ. Models are
the catalogue, robots of example-robot-data, and random open and closed mechanisms. States of closed mechanisms are a
regular one, one off the loops, and where the mobility is 1 the most singular one along the motion. To record another
version of the library, run this folder as a script with PYTHONPATH set to that version.

A deviation is |new - recorded| / (|recorded| + sensitivity), each the largest of the array. The sensitivity is the
change of the recorded result with inputs perturbed by a relative 1e-12, divided by 1e-12, and at most 1e6 |recorded|:
results of a well-conditioned computation are compared relative to their size, others to their condition number.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.optimize import minimize_scalar

import ada_dynamics as ada

Array = np.ndarray[Any, np.dtype[np.float64]]
Arrays = Mapping[str, Array]
Call = Callable[[], Any]
LIMIT, SIMULATION_LIMIT, PERTURBATION = 1e-12, 1e-9, 1e-12
UP_TO = {"any": 1000, "medium": 24, "small": 10}  # velocities, for quantities by the cost of their compilation
SIMULATED = 30  # velocities up to which a second is simulated
TABLE = yaml.safe_load(Path(__file__).with_name("table.yaml").read_text(encoding="utf-8"))
GRAVITY = (0.3, -0.5, -9.8)
dynamics_of = cache(ada.Dynamics)


def first(owner: Any, names: str) -> Any:
    """The first attribute that exists among alternatives such as "project|constraints.project"."""
    for path in names.split("|"):
        with suppress(AttributeError):
            return attrgetter(path)(owner)
    raise AttributeError(f"{owner!r} has none of {names}")


def models() -> dict[str, Call]:
    """Loaders of all models by name."""
    made: dict[str, Call] = {name: partial(ada.load, name) for name in ada.robots()}
    shares = (Path(entry) / "cmeel.prefix/share/example-robot-data/robots" for entry in sys.path)
    folder = next(share for share in shares if share.is_dir())
    for base, paths in TABLE["foreign"].items():
        made |= {Path(path).name: partial(ada.load, folder / f"{path}.urdf", base=base) for path in paths.split()}
    return made | {f"random_{seed}": partial(random_model, seed) for seed in range(12)}


def random_model(seed: int) -> ada.Model:
    """A random tree; with an odd seed one or two loops at its last link are closed at a random configuration."""
    rng = np.random.default_rng(seed)
    builder = ada.Builder(f"random_{seed}").link("link_0", 1.0, inertia=(0.2, 0.2, 0.2))
    base, closed = ("fixed", "floating")[seed // 2 % 2], seed % 2
    for i in range(1, 5 + seed % 3 + 4 * closed):
        A = 0.3 * rng.normal(size=(3, 3))
        S = A @ A.T + 0.02 * np.eye(3)
        builder.link(f"link_{i}", rng.uniform(0.5, 2.0), rng.uniform(-0.2, 0.2, 3), np.trace(S) * np.eye(3) - S)
        parent = i - 1 if rng.random() < 0.7 else int(rng.integers(i))
        kind = "revolute" if closed and rng.random() < 0.6 else str(rng.choice(TABLE["random kinds"]))
        losses: dict[str, Any] = {
            "damping": rng.uniform(0, 0.2) * (i % 2),
            "armature": rng.uniform(0, 0.2) * (i % 3 > 1),
        }
        xyz, rpy = rng.uniform(-0.4, 0.4, 3), rng.uniform(-3, 3, 3)
        builder.joint(f"joint_{i}", kind, f"link_{parent}", f"link_{i}", xyz, rpy, **losses, **axes_of(kind, rng))
    tree = builder.build(base, GRAVITY)
    if not closed:
        return tree
    poses, last = first(ada.Dynamics(tree), "poses|forward_kinematics")(tree.random_state(rng)[0]), tree.link_names[-1]
    for other in ("link_0", "link_4")[: 1 + seed // 4 % 2]:
        kind, T = TABLE["random loop kinds"][seed // 2], np.linalg.inv(poses[other]) @ poses[last]
        axes = axes_of(kind, rng)
        builder.loop(f"loop_{other}", kind, other, last, T[:3, 3], parent_rotation=T[:3, :3], **axes)
    return builder.build(base, GRAVITY)


def axes_of(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """Axes and constants of a joint."""
    axis, second = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    return {"axis": axis, **{"universal": {"axis2": second}, "helical": {"pitch": 0.1}}.get(kind, {})}


def states(model: ada.Model, seed: int) -> dict[str, dict[str, Array]]:
    """Inputs of the quantities in each state, by the name of the state."""
    rng, dynamics = np.random.default_rng(seed), ada.Dynamics(model)
    x, y, z, u, v = rng.normal(size=(5, model.nv))
    wrench, others = rng.normal(size=6), {"x": x, "y": y, "z": z, "u": u}
    q = model.integrate(ada.Simulation(model).q, 0.2 * rng.normal(size=model.nv))
    found = {"regular": (q, v)}
    if model.loops:
        q, v = first(dynamics, "project_to_constraints|project")(q, v)
        found = {"regular": (q, v), "off the loops": (model.integrate(q, 1e-2 * rng.normal(size=model.nv)), v)}
        T = np.linalg.svd(first(dynamics, "constraint_jacobian|loop_conditions|constraints.jacobian")(q))[2]
        if len(first(dynamics, "velocity_indices|constraints.indices")()) == 1:
            found["singular"] = most_singular(model, dynamics, q, T[-1]), v
    return {name: {"q": q, "v": v, "W": wrench, **others} for name, (q, v) in found.items()}


def most_singular(model: ada.Model, dynamics: ada.Dynamics, q: Array, direction: Array) -> Array:
    """The closed configuration of least smallest singular value of the constraint Jacobian, near a line from q."""
    close, jacobian = (
        first(ada, "close_loops|assemble"),
        first(dynamics, "constraint_jacobian|loop_conditions|constraints.jacobian"),
    )

    def at(step: float) -> tuple[float, Array]:
        closed = np.asarray(close(model, model.integrate(q, step * direction)))
        sizes = np.linalg.svd(jacobian(closed), compute_uv=False)
        return float(sizes[min(len(sizes), model.nv - 1) - 1]), closed

    middle = min(np.linspace(-3.0, 3.0, 61).tolist(), key=lambda step: at(step)[0])
    bounds, accuracy = (middle - 0.1, middle + 0.1), {"xatol": 1e-12}
    return at(minimize_scalar(lambda step: at(step)[0], bounds=bounds, method="bounded", options=accuracy).x)[1]


def parts(result: Any) -> list[Array]:
    """Arrays of a result; values of a mapping are joined, so that all of them have one scale."""
    if isinstance(result, Mapping):
        columns = zip(*(parts(value) for value in result.values()), strict=True)
        flags = parts(dict(result.unique)) if hasattr(result, "unique") else []
        return [np.concatenate([np.ravel(x) for x in column]) for column in columns] + flags
    if isinstance(result, (tuple, list)) and not all(np.ndim(x) == 0 for x in result):
        return [array for value in result for array in parts(value)]
    return [np.asarray(result, dtype=float)]


def outcome(call: Call) -> tuple[list[Array], str]:
    """Arrays that a call returns, and the names of its warnings and its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found, names = parts(call()), []
        except ada.AdaError as error:
            found, names = [], [type(error).__name__]
    names += {one.category.__name__ for one in caught}
    return found, " ".join(sorted(TABLE["renamed"].get(name, name) for name in names))


def calls(dynamics: ada.Dynamics, state: Arrays) -> Iterator[tuple[str, Call]]:
    """Name and call of each quantity in a state."""
    model = dynamics.model
    link = model.link_names[-1]
    values: dict[str, Any] = {**state, "L": link, "W": {link: state["W"]}, "Y": state["y"]}
    with suppress(ada.AdaError):
        values["Y"] = state["y"][: len(first(dynamics, "velocity_indices|constraints.indices")("actuated"))]
    for size, lines in TABLE["quantities"].items():
        for names, *words in map(str.split, lines.split(",")) if model.nv <= UP_TO[size] else ():
            method, given = first(dynamics, names), [values.get(word, word) for word in words]
            yield " ".join([names.split("|")[0], *words]), partial(method, *given)
    q, v, u = (np.outer([1.0, 1.0, 1.0], state[name]) for name in "qvu")
    yield "forward of a batch", partial(dynamics.forward, q, v, u * [[1.0], [0.0], [-1.0]])
    yield "inverse of a batch", partial(dynamics.inverse, q, v, u * [[1.0], [0.0], [-1.0]])
    if model.nv <= UP_TO["medium"]:
        for name in TABLE["algorithms"]:
            yield f"forward by {name}", partial(forward_by, name, model, *(state[key] for key in "qvu"))
        if model.loops:
            yield "close_loops", partial(first(ada, "close_loops|assemble"), model, state["q"] + 0.05)
    if model.nv <= SIMULATED:
        yield "simulation of 1 s", partial(simulated, model, state["q"], 0.3 * state["v"])


def forward_by(name: Any, model: ada.Model, q: Array, v: Array, u: Array) -> Array:
    """Accelerations by a named algorithm."""
    return dynamics_of(model, name).forward(q, v, u)


def simulated(model: ada.Model, q: Array, v: Array) -> tuple[Array, Array]:
    """State after one second without efforts."""
    simulation = ada.Simulation(model, q, v)
    simulation.run(1.0)
    return simulation.q, simulation.v


def computed(name: str, make: Call, recorded: Arrays | None) -> Iterator[tuple[str, Array]]:
    """Keys and arrays of one model; of recorded inputs where there are some, without the sensitivities."""
    model = make()
    inputs: dict[str, dict[str, Array]] = defaultdict(dict)
    for key, value in (recorded or {}).items():
        if key.startswith(f"{name}|") and key.endswith("|input"):
            _, state, argument, _ = key.split("|")
            inputs[state][argument] = value
    for state, given in (inputs or states(model, sum(map(ord, name)))).items():
        dynamics_of.cache_clear()  # warnings of configurations off the loops are issued once per object
        dynamics = ada.Dynamics(model)
        rng = np.random.default_rng(1)
        near = {key: x * (1.0 + PERTURBATION * rng.uniform(-1.0, 1.0, x.shape)) for key, x in given.items()}
        perturbed = dict(calls(dynamics, near))
        for key, x in given.items() if recorded is None else ():
            yield f"{name}|{state}|{key}|input", x
        for quantity, call in calls(dynamics, given):
            found, events = outcome(call)
            again = outcome(perturbed[quantity])[0] if recorded is None else []
            yield f"{name}|{state}|{quantity}|events", np.array(events)
            for i, x in enumerate(found):
                yield f"{name}|{state}|{quantity}|{i}", x
            for i, (x, y) in enumerate(zip(found, again, strict=False)):
                size = np.nanmax(np.abs(x), initial=0.0)
                change = np.nanmax(np.abs(x - y), initial=0.0) / PERTURBATION if x.shape == y.shape else 0.0
                yield f"{name}|{state}|{quantity}|{i}|scale", size + min(change, 1e6 * size)


def deviation(key: str, x: Array, recorded: Arrays) -> float:
    """Deviation of a result, infinite where size, nan, warnings or errors differ."""
    y = recorded.get(key)
    if y is None or x.dtype.kind != y.dtype.kind or x.size != y.size:
        return np.inf
    if x.dtype.kind == "U":
        return 0.0 if str(x).split() == sorted(str(y).split()) else np.inf
    x, y = x.ravel(), y.ravel()
    if not np.array_equal(np.isfinite(x), np.isfinite(y)):
        return np.inf
    scale = float(recorded.get(f"{key}|scale", np.nanmax(np.abs(y), initial=0.0)))
    change = float(np.nanmax(np.abs(x - y), initial=0.0))
    return change / scale if change else 0.0


def compare(recorded: Arrays, chosen: Mapping[str, Call]) -> int:
    """Print the largest deviation of each quantity, and the failures; 1 if there are any."""
    worst: dict[str, tuple[float, str]] = {}
    counts: Counter[str] = Counter()
    failures: list[str] = []
    missing = {key for key in recorded if not key.endswith(("|input", "|scale")) and key.split("|")[0] in chosen}
    for name, make in chosen.items():
        for key, x in computed(name, make, recorded):
            model, state, quantity, part = key.split("|")
            found = deviation(key, x, recorded)
            counts[quantity] += 1
            missing.discard(key)
            worst[quantity] = max(worst.get(quantity, (-1.0, "")), (found, f"{model}, {state}" if found else ""))
            if found > limit_of(quantity):
                failures.append(f"{key}: {f'{recorded.get(key)} -> {x}' if part == 'events' else f'{found:.1e}'}")
    print(f"{'quantity':<52}{'results':>8}{'deviation':>11}{'limit':>9}  largest in")
    for quantity, (found, where) in worst.items():
        print(f"{quantity:<52}{counts[quantity]:>8}{found:>11.1e}{limit_of(quantity):>9.0e}  {where}")
    failures += [f"{key}: not computed" for key in sorted(missing)]
    print("\n".join([*failures, f"{len(chosen)} models, {counts.total()} results, {len(failures)} failures"]))
    return int(bool(failures))


def limit_of(quantity: str) -> float:
    """Largest allowed deviation."""
    return SIMULATION_LIMIT if quantity.startswith("simulation") else LIMIT


def main() -> int:
    """Record, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", nargs="+", help="only these (default: all)")
    options = parser.parse_args()
    chosen = {name: make for name, make in models().items() if options.models is None or name in options.models}
    if options.action == "compare":
        with np.load(options.file) as file:
            return compare(dict(file), chosen)
    found: dict[str, Array] = {}
    for name, make in chosen.items():
        print(name, flush=True)
        found.update(computed(name, make, None))
    np.savez_compressed(options.file, **found)  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
