# SPDX-License-Identifier: Apache-2.0
"""What accelerations along loops are made of, part by part: pinocchio's numbers, differences, and figures by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mechanism_oracle import Oracle

import ada_dynamics as ada
from ada_dynamics.dynamics.closed import LATE
from ada_dynamics.dynamics.loop_numbers import CompiledLoopNumbers
from ada_dynamics.dynamics.quantities import closed
from ada_dynamics.dynamics.singular import loose_joint
from ada_dynamics.expr import evaluate, trace
from ada_dynamics.loops.assembly import flipped
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.model import Mimic
from ada_dynamics.model.edit import with_parts
from ada_dynamics.robots import mechanisms

Array = Any
H = 1e-5  # of central differences: 1e-10 of truncation, 1e-11 of rounding


class Case:
    """A mechanism beside its start, with any velocity."""

    def __init__(self, name: str) -> None:
        self.model, start = getattr(mechanisms, name)()
        self.dynamics = ada.Dynamics(self.model, pose=start)
        self.closed, self.oracle = self.dynamics._kernels.closed, Oracle(self.model)
        rng = np.random.default_rng(2)
        self.q = np.array([self.model.integrate(start, 0.1 * rng.normal(size=self.model.nv)) for _ in range(3)])
        self.v, self.tau = rng.normal(size=(2, 3, self.model.nv))
        self.wrenches = rng.normal(size=(3, 6 * len(self.closed.tree.bodies)))
        self.numbers, self.acting = self.closed.study.numbers, list(self.closed.plans.conditions)

    def J(self, q: Array) -> Array:
        return self.numbers.jacobian(q)[self.acting] / self.closed.weights[:, None]


@pytest.fixture(scope="module", params=["four_bar", "bennett"])
def case(request: Any) -> Case:
    return Case(request.param)


def test_the_system_is_pinocchios_and_that_of_a_batch_is_each_states(case: Case) -> None:
    together = case.closed.system(case.q, case.v, case.tau)
    for k, state in enumerate(zip(case.q, case.v, case.tau, strict=True)):
        q, v, tau = state
        M, r, J, rate = case.closed.system(*state)
        tree = case.oracle.tree
        np.testing.assert_allclose(M, tree.mass_matrix(q), atol=1e-12)
        np.testing.assert_allclose(r, tau - tree.bias(q, v), atol=1e-11)
        np.testing.assert_allclose(J, case.J(q), atol=1e-13)
        for one, several in zip((M, r, J, rate), together, strict=True):
            np.testing.assert_allclose(several[k], one, atol=1e-13)


def test_on_the_loops_conditions_are_the_second_derivative_of_the_gap(case: Case) -> None:
    """J a + γ = 0 keeps closed what is closed: on loops, and with velocities along them."""
    for q, v in zip(*case.closed.project(case.q, case.v), strict=True):
        rate = case.closed.system(q, v, np.zeros_like(v)).rate
        ahead, behind = (case.J(case.model.integrate(q, s * H * v)) for s in (1.0, -1.0))
        np.testing.assert_allclose(rate, (ahead - behind) @ v / (2.0 * H), atol=1e-8)


def test_wrenches_on_bodies_add_their_efforts_to_the_system(case: Case) -> None:
    plain, pushed = (case.closed.system(case.q, case.v, case.tau, w) for w in (None, case.wrenches))
    for q, more, flat in zip(case.q, pushed.r - plain.r, case.wrenches, strict=True):
        efforts = sum(
            case.dynamics.jacobian(case.model.joints[body.name].child, q, frame="local").T @ wrench
            for body, wrench in zip(case.closed.tree.bodies, flat.reshape(-1, 6), strict=True)
        )
        np.testing.assert_allclose(more, efforts, atol=1e-12)
    for one, other in zip(plain[:1] + plain[2:], pushed[:1] + pushed[2:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_conditions_change_as_their_differences_say(case: Case) -> None:
    q, v = case.q[0], case.v[0]

    def gamma(at: Array, w: Array) -> Array:
        return case.closed.system(at, w, np.zeros(case.model.nv)).rate

    found = case.closed.rates(q, v)
    ahead, behind = (case.model.integrate(q, s * H * v) for s in (1.0, -1.0))
    np.testing.assert_allclose(found.J, (case.J(ahead) - case.J(behind)) / (2.0 * H), atol=1e-8)
    np.testing.assert_allclose(found.rate_by_q, (gamma(ahead, v) - gamma(behind, v)) / (2.0 * H), atol=1e-7)
    by_v = np.array([(gamma(q, v + H * e) - gamma(q, v - H * e)) / (2.0 * H) for e in np.eye(len(v))]).T
    np.testing.assert_allclose(found.rate_by_v, by_v, atol=1e-9)


def test_a_projected_state_is_the_nearest_one_by_kinetic_energy(case: Case) -> None:
    """Along the loops nothing is taken from the momentum of a velocity, and a step back is across them."""
    q, v = case.closed.project(case.q, case.v)
    for at, speed, (start, given) in zip(q, v, zip(case.q, case.v, strict=True), strict=True):
        M, J = case.oracle.tree.mass_matrix(at), case.J(at)
        assert np.abs(case.closed.gap(at)).max() < 1e-13
        np.testing.assert_allclose(J @ speed, 0.0, atol=1e-12)
        motions = np.linalg.svd(J)[2][case.closed.study.rank :].T
        np.testing.assert_allclose(motions.T @ M @ (speed - given), 0.0, atol=1e-11)
        # a step is across the loops where it begins, the next ones where it has led to
        step = case.model.difference(start, at)
        lost = motions.T @ M @ step
        assert np.abs(lost).max() < 0.3 * np.sqrt(np.trace(M)) * np.linalg.norm(step)
        alone = case.closed.project(start, given)
        np.testing.assert_allclose(alone[0], at, atol=1e-14)
        np.testing.assert_allclose(alone[1], speed, atol=1e-13)
    for steps in (0, 1):
        one, _ = case.closed.project(case.q[0], case.v[0], steps)
        assert np.array_equal(one, case.q[0]) == (steps == 0)
        assert np.abs(case.closed.gap(one)).max() > 1e-9


def test_multipliers_of_conditions_that_are_not_used_are_none(case: Case) -> None:
    used, count = list(case.closed.plans.used), len(case.acting)
    given = np.arange(2.0 * len(used)).reshape(2, -1) + 1.0
    whole = case.closed.of_all(given)
    assert whole.shape == (2, count)
    np.testing.assert_array_equal(whole[:, used], given)
    assert not np.delete(whole, used, axis=1).any()


def test_loops_that_lose_their_rank_are_named_and_both_ways_out_told() -> None:
    case = Case("four_bar")
    flat = np.array([np.pi / 2, 0.0, np.pi])
    ways = case.closed.tangents(flat)
    expected = [np.array([1.0, -1.0, 1.0]) / np.sqrt(3.0), np.array([0.0, 1.0, 0.0])]
    assert len(ways) == 2
    for way in ways:
        assert min(min(np.abs(way - one).max(), np.abs(way + one).max()) for one in expected) < 1e-9
    _, solution = case.closed._solution(flat, np.zeros(3))
    assert case.closed.lost_names(solution) == {"closing"}
    assert case.closed.tangents(case.q[0]) == []


def test_candidates_that_stop_hand_on_to_an_order_that_is_another_one() -> None:
    plain, redundant = Case("four_bar").closed, Case("bennett").closed
    assert redundant.robust("kkt late") == redundant.robust(redundant.cheapest) != LATE
    assert plain.robust("kkt late") is None
    assert {plain.robust(name) for name in plain.plans.candidates if name != "kkt late"} == {LATE}


def test_only_the_loop_that_is_flat_is_named() -> None:
    builder = ada.Builder("two").link("base")
    for side, y in (("left", 0.0), ("right", 1.0)):
        before = "base"
        for i in range(3):
            builder.link(f"{side}_{i}", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
            place = (0, y, 0) if i == 0 else (0, 0, 1)
            builder.joint(f"{side}_pin_{i}", "revolute", before, f"{side}_{i}", place, axis=(0, 1, 0))
            before = f"{side}_{i}"
        builder.loop(f"{side}_loop", "revolute", before, "base", (0, 0, 1), child_xyz=(1, y, 0), axis=(0, 1, 0))
    flat, leaning = np.array([np.pi / 2, 0.0, np.pi]), np.array([0.4, np.pi / 2 - 0.4, np.pi / 2 + 0.4])
    model = builder.build()
    start = np.concatenate([leaning, leaning])
    closed = ada.Dynamics(model, pose=start)._kernels.closed
    for q, lost in (([*flat, *leaning], {"left_loop"}), ([*leaning, *flat], {"right_loop"}), (start, set())):
        assert closed.lost_names(closed._solution(np.array(q), np.zeros(6))[1]) == lost


def test_orders_with_early_conditions_are_stopped_earlier_than_the_last_one() -> None:
    case = Case("four_bar")
    tree, plans = case.closed.tree, case.closed.plans
    q, v, tau = (x[0].tolist() for x in (case.q, case.v, case.tau))
    for name in ("late", "kkt late", *(name for name in plans.candidates if "late" not in name)):
        own = closed.LATE_THRESHOLD if "late" in name else closed.EARLY_THRESHOLD
        default, same, other = (
            closed.elimination(tree, plans, name, smallest)
            for smallest in (None, own, closed.LATE_THRESHOLD + closed.EARLY_THRESHOLD - own)
        )
        found = default.run(q, v, tau)
        assert default.guards(found) == same.guards(found) != other.guards(found)
    assert closed.LATE_THRESHOLD < closed.EARLY_THRESHOLD


def test_lagranges_equations_are_for_links_without_wrenches(monkeypatch: Any) -> None:
    case = Case("four_bar")
    used: list[str] = []

    def recorded(name: str, solve: Any) -> Any:
        return lambda *given, **more: (used.append(name), solve(*given, **more))[1]

    solvers = {name: recorded(name, solve) for name, solve in closed.SOLVERS.items()}
    monkeypatch.setattr(closed, "SOLVERS", solvers)
    solver = closed.elimination(case.closed.tree, case.closed.plans, "lagrange")
    sizes = {"q": case.model.nq, "v": case.model.nv, "tau": case.model.nv}
    ways = [
        trace("by_lagrange", sizes, lambda q, v, tau, more=more: {"a": solver.run(q, v, tau, *more).accelerations})
        for more in ((), ({},))
    ]
    assert used == ["lagrange", "kkt"]
    given = dict(zip(sizes, (case.q[0], case.v[0], case.tau[0]), strict=True))
    plain, other = (evaluate(way, **given)["a"] for way in ways)
    np.testing.assert_allclose(np.array(plain, dtype=float), np.array(other, dtype=float), rtol=1e-8)


@pytest.mark.parametrize("name", ["four_bar", "bennett", "stewart"])
def test_compiled_gaps_and_conditions_are_those_of_the_algorithms(name: str) -> None:
    model, start = getattr(mechanisms, name)()
    numbers, compiled = LoopNumbers(model), CompiledLoopNumbers(ada.Dynamics(model, pose=start)._kernels)
    for q in (np.asarray(start), model.integrate(start, 0.2 * np.ones(model.nv))):
        np.testing.assert_allclose(compiled.gap(q), numbers.gap(q), atol=1e-14)
        np.testing.assert_allclose(compiled.jacobian(q), numbers.jacobian(q), atol=1e-13)
        np.testing.assert_allclose(compiled.mass_matrix(q), numbers.mass_matrix(q), atol=1e-12)
        assert compiled.is_flipped(q) == bool(flipped(model.tree, q))


def test_a_loop_whose_axes_point_apart_is_told() -> None:
    model, start = mechanisms.four_bar()
    loop = model.loops["closing"]
    for turned in (False, True):
        R = np.diag([1.0, -1.0, -1.0]) @ loop.child_rotation if turned else loop.child_rotation
        other = with_parts(model, replace(loop, child_rotation=R))
        assert CompiledLoopNumbers(ada.Dynamics(other, checked=False)._kernels).is_flipped(np.asarray(start)) == turned


def test_conditions_that_depend_on_each_other_give_way_by_a_share_of_what_the_mechanism_gives() -> None:
    """The mean of J M⁻¹ Jᵀ's diagonal over sample poses and conditions, in units of forces, times a small number."""
    case = Case("bennett")
    softness, usual = case.closed._softness
    given = []
    for q in case.closed.study.poses:
        J = case.J(q)
        given.append(np.diag(J @ np.linalg.solve(case.oracle.tree.mass_matrix(q), J.T)))
    np.testing.assert_allclose(softness, closed.SOFTNESS * np.mean(given) * case.closed.weights**2, rtol=1e-9)
    assert len(usual) == len(softness) == len(case.acting)


# --- joints that nothing resists --------------------------------------------------------------------------------------
def chain(*joints: tuple[str, tuple[int, int, int], float], mimic: bool = False) -> ada.Model:
    """Joints one after the other, each with its kind, its axis and the mass of the ball that it carries."""
    builder, parent = ada.Builder("chain").link("base"), "base"
    for i, (kind, axis, mass) in enumerate(joints):
        builder.link(f"link_{i}", mass, inertia=0.4 * mass * np.eye(3))
        more = {"mimic": Mimic("joint_0", 2.0)} if mimic and i == 1 else {}
        builder.joint(f"joint_{i}", kind, parent, f"link_{i}", axis=axis, **more)
        parent = f"link_{i}"
    return builder.build()


X, Y = (1, 0, 0), (0, 1, 0)


@pytest.mark.parametrize(
    ("joints", "named"),
    [
        ([("revolute", X, 1.0), ("revolute", Y, 1.0)], None),
        # the world holds what is on the slide, whatever it weighs
        ([("prismatic", X, 0.0), ("prismatic", Y, 1.0)], None),
        ([("prismatic", X, 0.0), ("prismatic", Y, 0.0)], "joint_0"),
        ([("prismatic", X, 1.0), ("prismatic", Y, 0.0)], "joint_1"),
        # one slide on another moves the same ball: of the two the first is named
        ([("prismatic", X, 0.0), ("prismatic", X, 1.0)], "joint_0"),
    ],
)
def test_a_joint_that_nothing_resists_is_named(joints: Any, named: str | None) -> None:
    tree = chain(*joints).tree
    assert loose_joint(tree, [0.0] * tree.nq) == named


def test_a_joint_that_follows_another_one_is_not_loose_by_itself() -> None:
    for last, named in ((1.0, None), (0.0, "joint_2")):
        tree = chain(("revolute", X, 1.0), ("revolute", X, 0.0), ("revolute", Y, last), mimic=True).tree
        assert loose_joint(tree, [0.1] * tree.nq) == named
