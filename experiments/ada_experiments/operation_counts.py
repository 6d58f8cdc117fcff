# SPDX-License-Identifier: Apache-2.0
"""T2.2, C1: operation counts of algorithms (Takahashi 2012, table 2.3; CRB note).

Table 2.3, measured: capabilities, inversions and computational cost of each algorithm. Costs are operation counts of
the implemented algorithms. The links of `chain_3d` are equal and its axes repeat every third joint: the count for
3k joints is a polynomial in k. Its degree follows exactly from differences.

C1: agreement and operations of the three methods for the inertia matrix in the CRB note, whose statement is that the
unit-vector method and the Jacobian method take about twice the time of composite rigid bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.algorithms import aba, ada, crba, dca, lagrange, order_n
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics, quantities
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.expr import Cost, Function, cost, trace
from ada_dynamics.model import chain_3d
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree, for_efforts
from ada_dynamics.robots.load import load
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario

Solver = Callable[..., list[Any]]
ROUNDS = (2, 3, 4, 5, 6)  # multiples of three joints; the joint to the ground makes a single round different
INERTIA = ((0.02, 0.001, 0.002), (0.001, 0.03, -0.001), (0.002, -0.001, 0.025))  # full inertia matrices
FREEDOMS = {"revolute": 1, "prismatic": 1, "cylindrical": 2, "universal": 2, "planar": 3, "spherical": 3}
PER_ROUND = 54  # third difference of n³/3 over rounds of three joints: 3! · 3³/3
PATH = (8, 16, 32)  # numbers of joints for comparing critical paths
TOUCHES = 4  # links of a branch


def _in_order(solver: Solver, order: str) -> Solver:
    return lambda tree, q, v, tau: solver(tree, q, v, tau, None, order)


SOLVERS: Mapping[str, Solver] = {
    "lagrange": lagrange.forward_dynamics,
    "crba": crba.forward_dynamics,
    "order_n": order_n.forward_dynamics,
    "aba": aba.forward_dynamics,
    "dca": _in_order(dca.forward_dynamics, "chain"),
    "ada": _in_order(ada.forward_dynamics, "chain"),
    "dca balanced": _in_order(dca.forward_dynamics, "balanced"),
    "ada balanced": _in_order(ada.forward_dynamics, "balanced"),
}


def count(solver: Solver, tree: Tree) -> Cost:
    """Operations of one evaluation."""
    return cost(traced(solver, tree))


def traced(solver: Solver, tree: Tree) -> Function:
    """Forward dynamics of one robot."""
    sizes = {"q": tree.nq, "v": tree.nv, "tau": tree.nv}
    return trace("f", sizes, lambda q, v, tau: {"a": solver(tree, q, v, tau)})


@cache
def of_chain(name: str, joints: int) -> Cost:
    """Operations for a chain of joints about x, y and z in turn."""
    return count(SOLVERS[name], chain_3d(joints).tree)


def differences(name: str, order: int) -> list[int]:
    """Differences of the operation count over rounds of three joints."""
    values = [of_chain(name, 3 * k).flops for k in ROUNDS]
    return [int(x) for x in np.diff(values, order)]


def path_growth(name: str) -> float:
    """Growth of the critical path from 16 to 32 joints relative to that from 8 to 16: 1 if logarithmic, 2 if linear."""
    paths = [of_chain(name, n).critical_path for n in PATH]
    return float((paths[2] - paths[1]) / (paths[1] - paths[0]))


def serial(kind: str, pairs: int) -> Tree:
    """A chain of equal links that alternates revolute joints and joints of one type."""
    builder = Builder(f"{kind}_{pairs}").link("link_0")
    for i in range(1, 2 * pairs + 1):
        builder.link(f"link_{i}", 1.0, (0.02, 0.03, 0.1), INERTIA)
        one = kind if i % 2 else "revolute"
        axes: dict[str, Any] = {"axis": (0, 0, 1)} if one in ("revolute", "prismatic", "cylindrical") else {}
        if one == "universal":
            axes = {"axis": (0, 0, 1), "axis2": (0, 1, 0)}
        builder.joint(f"joint_{i}", one, f"link_{i - 1}", f"link_{i}", (0.1, 0.05, 0.2), (0.3, 0.4, 0.5), **axes)
    return builder.build().tree


def of_pair(name: str, kind: str) -> tuple[int, int]:
    """Divisions and operations of one additional joint of a type together with a revolute joint.

    The division that normalizes a quaternion is not counted.
    """
    two, three = (count(SOLVERS[name], serial(kind, pairs)) for pairs in (2, 3))
    return three.divisions - two.divisions - (kind == "spherical"), three.flops - two.flops


def star(branches: int) -> Tree:
    """A tree with branches of four links."""
    builder = Builder("star").link("root")
    for b in range(branches):
        for i in range(TOUCHES):
            builder.link(f"link_{b}_{i}", 1.0, (0.02, 0.03, 0.1), (0.02, 0.03, 0.025))
            parent = f"link_{b}_{i - 1}" if i else "root"
            axis = np.eye(3)[i % 3]
            builder.joint(f"joint_{b}_{i}", "revolute", parent, f"link_{b}_{i}", (0.0, 0.1, 0.2), axis=axis)
    return builder.build().tree


def two_balls(ball: Sequence[tuple[str, tuple[int, int, int]]]) -> Tree:
    """A ball, a revolute and a ball joint in series; a ball is one joint, or several with light links in between."""
    builder, parent = Builder("two_balls").link("ground"), "ground"
    for k, joints in enumerate((ball, [("revolute", (0, 1, 0))], ball)):
        for i, (kind, axis) in enumerate(joints):
            is_last, link = i == len(joints) - 1, f"link_{k}_{i}"
            builder.link(link, *((1.0, (0.02, 0.03, 0.1), INERTIA) if is_last else (0.1, (0.0, 0.0, 0.0), 3 * (1e-4,))))
            along: dict[str, Any] = {"axis": axis} if kind == "revolute" else {}
            builder.joint(
                f"joint_{k}_{i}", kind, parent, link, (0.1, 0.05, 0.2) if i == 0 else (0.0, 0.0, 0.0), **along
            )
            parent = link
    return builder.build().tree


def ball_by_revolute(name: str) -> float:
    """Operations with spherical joints by those with three revolute joints in place of each."""
    three = [("revolute", axis) for axis in ((0, 0, 1), (0, 1, 0), (0, 0, 1))]
    one, other = (count(SOLVERS[name], two_balls(ball)).flops for ball in ([("spherical", (0, 0, 1))], three))
    return one / other


@experiment("algorithm_table")
def algorithm_table(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Count the operations of the four algorithms."""
    quantities = {}
    for i, name in enumerate(("aba", "dca", "ada")):
        progress(0.25 * i, f"operations of {name}")
        quantities[f"{name}_second_difference"] = Quantity(max(map(abs, differences(name, 2))))
        quantities[f"{name}_inverse_off"] = Quantity(max(_inverse_off(name, kind) for kind in FREEDOMS))
    progress(0.75, "paths and joint forces")
    revolute = {name: of_pair(name, "revolute")[0] for name in ("dca", "ada")}
    quantities["dca_beyond_constraints"] = Quantity((revolute["dca"] - revolute["ada"]) // 2)
    per_round = {name: differences(name, 1)[-1] for name in ("aba", "ada", "dca")}
    one, four = (count(SOLVERS["aba"], star(branches)) for branches in (1, 4))
    pair = {kind: of_pair("ada", kind)[1] for kind in ("revolute", "spherical")}
    quantities |= {
        "lagrange_third_difference": Quantity(float(np.mean(differences("lagrange", 3))) / PER_ROUND),
        "aba_path_growth": Quantity(path_growth("aba")),
        "dca_path_growth": Quantity(path_growth("dca balanced")),
        "ada_path_growth": Quantity(path_growth("ada balanced")),
        "aba_path_of_branches": Quantity(four.critical_path / one.critical_path),
        "aba_by_ada": Quantity(per_round["aba"] / per_round["ada"]),
        "ada_by_dca": Quantity(per_round["ada"] / per_round["dca"]),
        "freer_joint_by_revolute": Quantity(pair["spherical"] / pair["revolute"]),
        "aba_ball_by_three": Quantity(ball_by_revolute("aba")),
        "ada_ball_by_three": Quantity(ball_by_revolute("ada")),
        "aba_opens_loop": Quantity(_opened(), "m/s²"),
        "ada_closes_loop": Quantity(_apart_on_loop("ada"), "rad/s²"),
        "dca_closes_loop": Quantity(_apart_on_loop("dca"), "rad/s²"),
        "dca_wrenches_off": Quantity(_wrenches_apart()),
    }
    return Outcome(tables=[_table()], quantities=quantities)


def _inverse_off(name: str, kind: str) -> int:
    """Number of inverted columns for a joint beyond those of table 2.3, including the revolute joint of the pair."""
    n = FREEDOMS[kind]
    # SᵀYS of a single velocity is the inverse of the last pivot of Y and needs no division
    stated = {"aba": n + 1, "ada": (6 - n) + 5, "dca": (6 + n if n > 1 else 6) + 6}
    return abs(of_pair(name, kind)[0] - stated[name])


def _loop() -> tuple[Any, Array]:
    """A four-bar linkage in a closed configuration."""
    return load("closed_4r"), np.radians((135.0, -45.0, 225.0))


def _opened() -> float:
    """Relative acceleration of the loop ends at rest if ABA is used as in sec. 2.2.2, ignoring the loop."""
    model, q = _loop()
    rest = np.zeros(model.nv)
    a = np.array(aba.forward_dynamics(model.tree, q.tolist(), rest.tolist(), rest.tolist()))
    dynamics = Dynamics(model, q0=q)
    tip = dynamics.acceleration("link_3", q, rest, a)
    arm = dynamics.pose("link_3", q)[:3, 2]
    return float(np.linalg.norm(tip[:3] + np.cross(tip[3:], arm)))


def _apart_on_loop(name: Algorithm) -> float:
    """Largest difference from the accelerations by the mass matrix with Lagrange multipliers."""
    model, q = _loop()
    rest = np.zeros(model.nv)
    found, wanted = (Dynamics(model, way, q0=q).forward(q, rest, rest) for way in (name, "crba"))
    return float(np.max(np.abs(found - wanted)))


def _wrenches_apart() -> float:
    """Largest relative difference of the joint wrenches of DCA from those of Newton-Euler."""
    model = chain_3d(6)
    q, v, tau = np.random.default_rng(2).normal(size=(3, model.nv))
    found = dca.solve(model.tree, q.tolist(), v.tolist(), tau.tolist(), None, "chain")
    wanted = Dynamics(model, "aba").joint_wrenches(q, v, tau)
    pairs = [
        (np.array([*wrench.force, *wrench.moment]), wanted[body.name])
        for body, wrench in zip(model.tree.bodies, found.wrenches, strict=True)
    ]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)


def _table() -> Table:
    joints: Sequence[int] = [3 * k for k in ROUNDS]
    names = ("lagrange", "aba", "dca", "ada")
    rows = [(n, *(of_chain(name, n).flops for name in names)) for n in joints]
    return Table("Operations of a chain, by joints", ("joints", *names), rows, "joints about x, y and z in turn")


ROBOTS = ("planar_3r", "planar_7r", "pa10", "floating_6", "khr1")
METHODS: dict[str, Callable[..., Any]] = {
    "crba": lambda tree, q: crba.mass_matrix(tree, q).dense(),
    "unit_vector": crba.mass_matrix_by_unit_vectors,
    "jacobian": crba.mass_matrix_by_jacobians,
}
STATES = 64


@experiment("inertia_matrices")
def inertia_matrices(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Compare the methods on the robots of the documents."""
    errors, ratios, direct = [], [], []
    for i, name in enumerate(ROBOTS):
        progress(i / len(ROBOTS), f"inertia matrices of {name}")
        model = load(name)
        errors.append(difference(model))
        operations = {method: _operations(model, method) for method in METHODS}
        direct.append(operations["jacobian"] / operations["unit_vector"])
        ratios += [count / operations["crba"] for method, count in operations.items() if method != "crba"]
    found = {
        "matrix_difference": Quantity(max(errors)),
        "operations_ratio": Quantity(min(ratios)),
        "largest_operations_ratio": Quantity(max(ratios)),
        "least_direct_ratio": Quantity(min(direct)),
        "largest_direct_ratio": Quantity(max(direct)),
    }
    return Outcome(quantities=found)


def difference(model: Model) -> float:
    """Largest difference from composite bodies over random states, relative to the largest entry.

    The methods sum some hundred products in different orders: a few times 1e-16 is expected.
    """
    rng = np.random.default_rng(0)
    states = np.array([model.random_state(rng)[0] for _ in range(STATES)])
    results = {name: [function(model.tree, q.tolist()) for q in states] for name, function in METHODS.items()}
    matrices = {name: np.array(result) for name, result in results.items()}
    return max(float(np.abs(M - matrices["crba"]).max() / np.abs(matrices["crba"]).max()) for M in matrices.values())


def _operations(model: Model, method: str) -> int:
    tree = for_efforts(model.tree)
    body = lambda q: {"M": METHODS[method](tree, q)}  # noqa: E731
    return cost(quantities.quantity(method, tree, ("q",), {"M": (tree.nv, tree.nv)}, body).trace()).flops
