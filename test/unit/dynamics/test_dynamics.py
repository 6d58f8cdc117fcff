# SPDX-License-Identifier: Apache-2.0
"""`Dynamics` refuses what it cannot use and says why, and gives the same whatever way a state is handed over."""

import copy
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from random_trees import oblique
from refused import refused

import ada_dynamics as ada
from ada_dynamics.dynamics.dynamics import kernel_of
from ada_dynamics.errors import InputError
from ada_dynamics.robots.mechanisms import four_bar

Array = NDArray[np.float64]
KERNELS = ["specialised", "generic"]


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def arm(kernel: str) -> ada.Dynamics:
    return ada.Dynamics(ada.load("pa10"), kernel=kernel)


@pytest.fixture(params=["first call", "later call"])
def warmed(request: pytest.FixtureRequest, arm: ada.Dynamics) -> ada.Dynamics:
    """The first call goes through Python, later ones through compiled argument checks."""
    if request.param == "later call":
        arm.forward(*np.zeros((3, 7)))
        arm.inverse(*np.zeros((3, 7)))
    return arm


def random_states(model: ada.Model, n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q, v = zip(*(model.random_state(rng) for _ in range(n)), strict=True)
    return np.array(q), np.array(v), rng.normal(size=(n, model.nv))


NAN_AT_3 = np.array([0, 0, 0, np.nan, 0, 0, 0])
SHAPES = ((7,), ("N", 7))
BAD_VECTORS: list[tuple[Any, str, Any]] = [  # with the suffix of the field, and the value of the error
    (np.zeros(6), "", (6,)),
    (np.zeros(0), "", (0,)),
    (np.zeros((2, 6)), "", (2, 6)),
    (np.zeros((1, 1, 7)), "", (1, 1, 7)),
    (1.0, "", ()),
    (None, "", "object"),
    ("abcdefg", "", "<U7"),
    (np.zeros(7, dtype=complex), "", "complex128"),
    ([0, 0, 0, 0, 0, 0, [0, 1]], "", "ragged"),
    (NAN_AT_3, "[3]", np.nan),
    (np.where(np.isnan(NAN_AT_3), -np.inf, 0.0), "[3]", -np.inf),
    (np.array([np.zeros(7), NAN_AT_3]), "[1, 3]", np.nan),
]


def assert_refused(error: Any, name: str, suffix: str, value: Any) -> None:
    assert error.field == f"{name}{suffix}"
    assert error.value == value or (np.isnan(error.value) and np.isnan(value))
    assert error.joint == ("e1" if suffix else None)
    assert error.allowed == (
        "finite" if suffix else SHAPES if isinstance(value, tuple) or value == "ragged" else "float64"
    )


@pytest.mark.parametrize(("bad", "suffix", "value"), BAD_VECTORS)
@pytest.mark.parametrize("method", ["forward", "inverse"])
def test_unusable_vectors_are_refused_by_name(
    warmed: ada.Dynamics, method: str, bad: Any, suffix: str, value: Any
) -> None:
    for place, name in enumerate(["q", "v", "tau" if method == "forward" else "a"]):
        arguments: list[Any] = [np.zeros(7)] * 3
        arguments[place] = bad
        with pytest.raises(ada.InputError) as caught:
            getattr(warmed, method)(*arguments)
        assert_refused(caught.value, name, suffix, value)


def test_angles_too_large_for_sine_and_cosine_are_refused(arm: ada.Dynamics) -> None:
    # Beyond 1e9 rad neighbouring doubles are 1e-7 rad apart and more; no digit of a result would mean anything soon.
    q = np.zeros(7)
    q[3] = -1e10
    with refused(ada.InputError, field="q[3]", joint="e1", value=-1e10):
        arm.forward(q, np.zeros(7), np.zeros(7))
    q[3] = 1.5e9
    assert np.isfinite(arm.forward(q, np.zeros(7), np.zeros(7))).all()


def test_batches_of_different_lengths_are_refused(arm: ada.Dynamics) -> None:
    with refused(ada.InputError, value={"q": 3, "v": 2}):
        arm.forward(np.zeros((3, 7)), np.zeros((2, 7)), np.zeros(7))


@pytest.mark.parametrize(
    ("call", "field", "value"),
    [
        (lambda d, z: d.pose("flang", z), "link", "flang"),
        (lambda d, z: d.velocity("link7", z, z), "link", "link7"),
        (lambda d, z: d.acceleration("x", z, z, z), "link", "x"),
        (lambda d, z: d.jacobian("flange", z, "worlds"), "frame", "worlds"),
        (lambda d, z: d.jacobian_rate("flange", z, z, "loc"), "frame", "loc"),
        (lambda d, z: d.mass_matrix(z, "crab"), "method", "crab"),
        (lambda d, z: kernel_of(d, "foward"), "kernel", "foward"),
        (lambda d, z: d.forward(z, z, z, {"flang": np.zeros(6)}), "link", "flang"),
        (lambda d, z: d.model.q_index("s9"), "joint", "s9"),
        (lambda d, z: ada.Dynamics(d.model, "abba"), "algorithm", "abba"),
        (lambda d, z: ada.Dynamics(d.model, kernel="genric"), "kernel", "genric"),
    ],
)
def test_unknown_names_are_answered_with_the_known_ones(call: Callable[..., Any], field: str, value: str) -> None:
    dynamics = ada.Dynamics(ada.load("pa10"))
    with refused(ada.UnknownNameError, field=field, value=value) as caught:
        call(dynamics, np.zeros(7))
    assert caught.value.allowed


def test_wrenches_that_cannot_be_used_are_refused_with_their_link() -> None:
    dynamics, z = ada.Dynamics(ada.load("pa10")), np.zeros(7)
    for wrench, value in ((np.zeros(5), (5,)), ([np.nan] * 6, None)):
        with refused(ada.InputError, field="external['flange']") as caught:
            dynamics.forward(z, z, z, {"flange": wrench})
        assert value is None or caught.value.value == value
    with refused(ada.InputError, field="external"):
        dynamics.forward(z, z, z, external=[1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["pose", "velocity", "acceleration", "jacobian", "jacobian_rate"])
def test_swapped_arguments_are_refused(method: str) -> None:
    dynamics, z = ada.Dynamics(ada.load("pa10")), np.zeros(7)
    vectors = {"pose": 1, "jacobian": 1, "acceleration": 3}.get(method, 2)
    with pytest.raises(TypeError) as caught:
        getattr(dynamics, method)(z, "flange", *[z] * (vectors - 1))
    assert isinstance(caught.value, ada.InputError) and (caught.value.field, caught.value.allowed) == ("link", str)


@pytest.mark.parametrize(
    ("options", "field", "allowed"),
    [
        ({"algorithm": "crba", "kernel": "generic"}, "algorithm", ("auto", "aba")),
        ({"order": "chain"}, "order", ("ada", "dca")),
        ({"order": "chain", "algorithm": "aba"}, "order", ("ada", "dca")),
        ({"hybrid": ["s1"]}, "hybrid", ("hybrid",)),
        ({"hybrid": ["s1"], "algorithm": "crba"}, "hybrid", ("hybrid",)),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], field: str, allowed: Any) -> None:
    with refused(ada.InputError, field=field, allowed=allowed):
        ada.Dynamics(ada.load("pa10"), **options)


@pytest.mark.parametrize(("kernel", "deep"), [("generic", 0), ("specialised", 0), ("specialised", 13)])
def test_inertias_that_no_body_has_are_refused_where_an_effort_would_turn_a_joint_backwards(
    kernel: str, deep: int
) -> None:
    robot, names = ada.Builder("impossible").link("base"), ["base", *(f"rod_{i}" for i in range(deep))]
    for parent, rod in pairwise(names):
        robot.link(rod, 1.0, inertia=(1, 1, 0)).joint(rod, "revolute", parent, rod, axis=(0, 1, 0), armature=1e9)
    robot.link("arm").link("tip", 1.0, inertia=[[1, 0, 0], [0, 1, 3], [0, 3, 1]])
    robot.joint("inner", "revolute", names[-1], "arm", axis=(0.0, 1.0, -1.0))  # resists by 1 - 3
    robot.joint("outer", "revolute", "arm", "tip", axis=(1.0, 0.0, 0.0))
    dynamics, q = ada.Dynamics(robot.build(), kernel=kernel), np.zeros(deep + 2)
    with refused(ada.InputError, joint="inner"):
        dynamics.forward(q, 0 * q, q + 1)
    q[-1] = np.pi / 2  # outer turns the axis of 1 + 3 inwards
    assert dynamics.forward(q, 0 * q, 0 * q + 1)[-2:] == pytest.approx([1 / 4, 1.0])


def test_derivatives_by_a_generic_kernel_are_refused_with_the_way_out() -> None:
    dynamics, z = ada.Dynamics(ada.load("pa10"), kernel="generic"), np.zeros(7)
    with refused(ada.InputError, field="kernel", allowed=("specialised",)):
        dynamics.forward_derivatives(z, z, z)


def test_one_bad_quaternion_in_a_batch_is_found(kernel: str) -> None:
    model = oblique()
    dynamics = ada.Dynamics(model, kernel=kernel)
    Q, V, T = random_states(model, 9)
    Q[7, 3:7] *= 1.01
    with refused(ada.InputError, joint="root_joint", field="q[7, 0:7]"):
        dynamics.forward(Q, V, T)
    with refused(ada.InputError, joint="root_joint", field="q[7, 0:7]"):
        dynamics.jacobian_rate(model.link_names[-1], Q, V)


def chain(**last: Any) -> ada.Builder:
    builder = ada.Builder("chain").link("base", 1.0, inertia=(1, 1, 1)).link("rod", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.1))
    builder.link("tip", **last).joint("first", "revolute", "base", "rod", axis=(0, 1, 0))
    return builder


@pytest.mark.parametrize(
    ("last", "kind", "axis"),
    [
        ({}, "revolute", (0, 0, 1)),
        ({"mass": 1.0, "com": (0.3, 0, 0)}, "revolute", (1, 0, 0)),
        ({}, "prismatic", (1, 0, 0)),
    ],
)
def test_a_joint_whose_motion_no_inertia_resists_is_refused_by_name(last: dict[str, Any], kind: str, axis: Any) -> None:
    model = chain(**last).joint("last", kind, "rod", "tip", axis=axis).build()
    with refused(ada.ModelError, joint="last", link="tip", field="inertia"):
        ada.Dynamics(model)


def test_rotor_inertia_or_a_mass_off_the_axis_is_enough() -> None:
    loaded = ada.Dynamics(chain().joint("last", "revolute", "rod", "tip", armature=0.01).build())
    assert np.allclose(loaded.forward([0, 0], [0, 0], [0, 1]), [0.0, 100.0], atol=1e-12)
    off_axis = chain(mass=1.0, com=(0, 0.2, 0)).joint("last", "revolute", "rod", "tip", axis=(1, 0, 0)).build()
    M = ada.Dynamics(off_axis).mass_matrix([0.3, 0.2])
    assert np.linalg.eigvalsh(M)[0] > 0.0


def test_a_model_without_joints_that_move_is_refused() -> None:
    with refused(ada.InputError, field="nv", value=0):
        ada.Dynamics(ada.Builder("rock").link("rock", 1.0).build())


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 33])
def test_a_batch_in_either_memory_order_equals_its_states_one_by_one(kernel: str, n: int) -> None:
    model = oblique()
    dynamics = ada.Dynamics(model, kernel=kernel)
    states = random_states(model, n)
    for method in ("forward", "inverse"):
        call = getattr(dynamics, method)
        single = np.array([call(*one) for one in zip(*states, strict=True)])
        rows, columns = call(*states), call(*map(np.asfortranarray, states))
        assert rows.shape == single.shape == (n, model.nv)
        assert np.array_equal(rows, columns), "the order of memory changes no digit"
        # Lanes may fuse multiplications differently from the scalar code: a few roundings of the largest number.
        assert np.max(np.abs(rows - single)) <= 1e-13 * np.max(np.abs(single))


def test_a_single_vector_counts_for_all_states_of_a_batch(kernel: str) -> None:
    model = oblique()
    dynamics = ada.Dynamics(model, kernel=kernel)
    Q, V, T = random_states(model, 5)
    assert np.array_equal(dynamics.forward(Q, V[0], T), dynamics.forward(Q, np.tile(V[0], (5, 1)), T))
    assert np.array_equal(
        dynamics.forward(Q[2], V, T[1]), dynamics.forward(np.tile(Q[2], (5, 1)), V, np.tile(T[1], (5, 1)))
    )


@pytest.mark.parametrize("robot", ["pa10", "four_bar"])
@pytest.mark.parametrize("taken", ["before the first call", "after it"])
def test_a_method_gives_the_same_bits_whenever_it_was_taken_and_however_it_is_called(robot: str, taken: str) -> None:
    model = ada.load(robot)
    dynamics = ada.Dynamics(model)
    forward = dynamics.forward
    pose = ada.close_loops(model)
    q, v, tau = np.asarray(pose), np.zeros(model.nv), np.linspace(-1.0, 1.0, model.nv)
    expected = dynamics.forward(q, v, tau)
    if taken == "after it":
        forward = dynamics.forward
    for call in (
        lambda: forward(q, v, tau),
        lambda: forward(tau=tau, q=q, v=v),
        lambda: forward(q, v, tau, external=None),
        lambda: forward(pose, v, tau),
        lambda: forward(q.tolist(), tuple(v), tau.tolist()),
        lambda: forward(q.astype(">f8"), np.ma.array(v), tau),
        lambda: forward(np.repeat(q, 2)[::2], v.astype(np.float32), tau),
        lambda: forward(q, v.astype(int), tau),
        lambda: forward(q[None], v[None], tau[None])[0],
    ):
        assert np.array_equal(call(), expected)


def test_results_are_fresh_and_arguments_untouched(warmed: ada.Dynamics) -> None:
    arguments = [np.full(7, 0.3), np.full(7, 0.2), np.ones(7)]
    before = [x.copy() for x in arguments]
    first = warmed.forward(*arguments)
    kept = first.copy()
    second = warmed.forward(arguments[0] + 1.0, *arguments[1:])
    assert not np.shares_memory(first, second)
    assert np.array_equal(first, kept)
    assert first.flags.writeable
    assert all(np.array_equal(x, y) for x, y in zip(arguments, before, strict=True))


def test_an_empty_batch_has_an_empty_result(warmed: ada.Dynamics) -> None:
    assert warmed.forward(np.zeros((0, 7)), np.zeros(7), np.zeros(7)).shape == (0, 7)


@pytest.mark.parametrize("robot", ["pa10", "four_bar"])
def test_a_used_dynamics_goes_to_another_process_and_back(robot: str) -> None:
    model = ada.load(robot)
    dynamics = ada.Dynamics(model, "aba")
    q, v = np.asarray(ada.close_loops(model)), np.zeros(model.nv)
    here = dynamics.forward(q, v, v + 1.0)
    method = pickle.loads(pickle.dumps(dynamics.forward))
    assert np.array_equal(method(q, v, v + 1.0), here)
    for there in (pickle.loads(pickle.dumps(dynamics)), copy.deepcopy(dynamics)):
        assert np.array_equal(there.forward(q, v, v + 1.0), here)
        assert there.algorithm == "aba"


def test_what_is_not_a_model_is_refused() -> None:
    with refused(ada.InputError, field="model", value="pa10"):
        ada.Dynamics("pa10")  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", ["generic", "specialised"])
@pytest.mark.parametrize("name", ["forward", "inverse"])
def test_a_call_with_wrenches_is_not_what_plain_calls_run(kernel: str, name: str) -> None:
    chain, ones = ada.planar_chain(3), np.ones(3)
    first, second = (ada.Dynamics(chain, kernel=kernel) for _ in range(2))
    wrenches = {chain.link_names[-1]: np.ones(6)}
    for _ in range(2):
        pushed = getattr(first, name)(ones, ones, ones, wrenches)
    assert np.array_equal(getattr(first, name)(ones, ones, ones), getattr(second, name)(ones, ones, ones))
    assert not np.array_equal(pushed, getattr(second, name)(ones, ones, ones))


def states(model, count):
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, model.nq)), *(rng.normal(size=(count, model.nv)) for _ in range(2))


@pytest.mark.parametrize("count", [0, 1, 4097, 13000])
def test_any_number_of_threads_gives_the_same_bits(count):
    dynamics = ada.Dynamics(ada.load("pa10"))
    rows = states(dynamics.model, count)
    for threads in (1, 2, 7):
        np.testing.assert_array_equal(ada.in_threads(dynamics.forward, *rows, threads=threads), dynamics.forward(*rows))


@pytest.mark.filterwarnings("ignore::ada_dynamics.errors.BifurcationWarning")
def test_states_that_kernels_refuse_are_solved_on_their_threads():
    model, regular = four_bar(masses=(1.0, 2.0, 0.5), offset=0.0)
    q = np.tile(regular, (9000, 1))
    q[[5, 4200, 8999]] = [np.pi / 2, 0.0, np.pi]
    v = np.zeros_like(q)
    tau = np.random.default_rng(0).normal(size=q.shape)
    dyn = ada.Dynamics(model)
    np.testing.assert_array_equal(ada.in_threads(dyn.forward, q, v, tau, threads=4), dyn.forward(q, v, tau))


def test_what_is_no_batch_is_refused():
    dyn = ada.Dynamics(ada.planar_chain(2))
    with refused(InputError, value=((2,), (3, 2))):
        ada.in_threads(dyn.gravity, np.zeros(2), np.zeros((3, 2)), threads=2)
    with refused(InputError, field="threads", value=0):
        ada.in_threads(dyn.gravity, np.zeros((3, 2)), threads=0)


def test_what_gives_no_array_with_a_row_for_each_state_is_refused():
    dyn, q = ada.Dynamics(ada.planar_chain(2)), np.zeros((5000, 2))
    for function, rows, what in (
        (dyn.energy, (q, q), "Energy"),
        (lambda rows: rows[0], (q,), "an array of shape (2,)"),
    ):
        with refused(InputError, field="function", value=what):
            ada.in_threads(function, *rows, threads=2)
    np.testing.assert_array_equal(ada.in_threads(dyn.momentum, q, q, threads=2), dyn.momentum(q, q))
