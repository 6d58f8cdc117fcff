# SPDX-License-Identifier: Apache-2.0
"""Batches on a device give what the processor at hand gives, wherever their arrays lie; what cannot be is refused."""

import copy
import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from loop_robots import on_two_legs, two_legs
from mechanism_oracle import Oracle
from refused import refused

import ada_dynamics as ada
from ada_dynamics.dynamics.computation import options_of
from ada_dynamics.errors import ConstraintViolationWarning, InputError, SingularConfigurationWarning
from ada_dynamics.gpu.arrays import DeviceArray
from ada_dynamics.gpu.kernels import compute
from ada_dynamics.robots import mechanisms

STATES = 77
# Lanes of one state are summed in another order than here: some roundings, times the condition of the mass matrix
# (1e3 for an arm).
ROUNDING = 1e-10


@dataclass
class World:
    """A model with states on its loops, here and on a device."""

    model: ada.Model
    here: ada.Dynamics
    there: ada.Dynamics
    states: tuple[np.ndarray, np.ndarray, np.ndarray]

    def placed(self, *arrays: np.ndarray, columns: bool = False) -> tuple[DeviceArray, ...]:
        return tuple(DeviceArray.of(self.there.device, np.asarray(x), columns) for x in arrays)


def on_loops(model: ada.Model, dynamics: ada.Dynamics, pose: np.ndarray | None, rng: np.random.Generator):
    """States: random, with loops near a pose that closes them, and with velocities that keep them closed."""
    if not model.loops:
        q = np.array([model.random_state(rng)[0] for _ in range(STATES)])
        return q, rng.normal(size=(STATES, model.nv))
    start = ada.close_loops(model, model.neutral() if pose is None else pose)
    moved = [model.integrate(start, 0.1 * rng.normal(size=model.nv), 1.0) for _ in range(STATES)]
    return dynamics.project_to_constraints(np.array(moved), 0.3 * rng.normal(size=(STATES, model.nv)))


def make(name: str, device: str) -> World:
    return world_of(*(mechanisms.stewart() if name == "stewart" else (ada.load(name), None)), device)


def world_of(model: ada.Model, pose: np.ndarray | None, device: str) -> World:
    here = ada.Dynamics(model)
    rng = np.random.default_rng(3)
    q, v = on_loops(model, here, pose, rng)
    there = ada.Dynamics(model, device=device)
    return World(model, here, there, (q, v, rng.normal(size=(STATES, model.nv))))


@pytest.fixture(scope="module", params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request) -> str:
    return request.param


@pytest.fixture(
    scope="module",
    params=["planar_3r", "five_bar", *(pytest.param(n, marks=pytest.mark.fuzz) for n in ("pa10", "stewart", "khr1"))],
)
def world(request, device) -> World:
    return make(request.param, device)


@pytest.fixture(scope="module")
def arm(device) -> World:
    return make("planar_7r", device)


@pytest.fixture(scope="module")
def linkage(device) -> World:
    return make("five_bar", device)


def agree(found, expected, rounding: float = ROUNDING) -> None:
    assert np.asarray(found).shape == np.asarray(expected).shape
    assert np.max(np.abs(np.asarray(found) - expected)) <= rounding * max(np.max(np.abs(expected)), 1.0)


@pytest.mark.parametrize("name", ["forward", "inverse"])
def test_arrays_here_and_there_in_rows_and_columns(world, name):
    given = [*world.states]
    if world.model.loops and name == "inverse":
        given[2] = world.here.forward(*world.states)
    expected = getattr(world.here, name)(*given)
    placed = [world.placed(*given, columns=columns) for columns in (False, True)]
    for states in (given, [*map(np.asfortranarray, given)], *placed):
        found = getattr(world.there, name)(*states)
        assert isinstance(found, DeviceArray) == isinstance(states[0], DeviceArray)
        agree(found, expected)


def test_efforts_are_shared_among_the_motors_whether_loops_are_redundant_or_not(device):
    for name, actuated in (("bennett", None), ("four_bar", ["joint_2"])):
        model = ada.load(name)
        if actuated:
            parts = (list(x.values()) for x in (model.links, model.joints))
            model = ada.Model(
                name, model.root, *parts, model.gravity, loops=list(model.loops.values()), actuated=actuated
            )
        world = world_of(model, None, device)
        q, v, a = world.states
        wrenches = {model.link_names[-1]: np.arange(6.0)}
        for more in ({}, {"external": wrenches}):
            expected = world.here.inverse(q, v, a, **more)
            agree(world.there.inverse(*world.placed(q, v, a), **more), expected)
            agree(world.there.inverse(q, v, a, **more), expected)


def test_single_states_count_for_all_and_a_single_state_alone_is_computed_here(arm):
    q, v, tau = arm.states
    expected = arm.here.forward(q, v[0], tau)
    agree(arm.there.forward(q, v[0], tau), expected)
    agree(arm.there.forward(*arm.placed(q), v[0], *arm.placed(tau)), expected)
    assert np.array_equal(arm.there.forward(q[0], v[0], tau[0]), arm.here.forward(q[0], v[0], tau[0]))


def test_external_wrenches_go_along(arm):
    wrenches = {arm.model.link_names[-1]: np.arange(6.0)}
    expected = arm.here.forward(*arm.states, external=wrenches)
    agree(arm.there.forward(*arm.states, external=wrenches), expected)
    agree(arm.there.forward(*arm.placed(*arm.states), external=wrenches), expected)


def test_single_precision_is_for_arrays_that_are_all_float32(world):
    floats = [x.astype(np.float32) for x in world.states]
    expected = world.here.forward(*world.states)
    agree(
        world.there.inverse(*floats[:2], expected.astype(np.float32)),
        world.here.inverse(*world.states[:2], expected),
        2e-3,
    )
    for states in (floats, world.placed(*floats)):
        found = world.there.forward(*states)
        assert found.dtype == np.float32
        # 6e-8 times the condition of the mass matrix, and of the loops' pivots
        agree(found, expected, 2e-3)
    for other in (np.float16, np.int8):
        assert world.there.forward(floats[0], floats[1], floats[2].astype(other)).dtype == np.float64


def test_singular_states_are_gathered_and_solved_here_and_named(device):
    model = ada.load("four_bar")
    flat = np.array([0.5, 0.0, 1.0]) * np.pi  # all links on one line
    rng = np.random.default_rng(0)
    here = ada.Dynamics(model)
    there = ada.Dynamics(model, device=device)
    start = ada.close_loops(model, model.neutral())
    q = np.tile(start, (30, 1))
    q[[7, 19]] = flat
    v, tau = np.zeros((30, model.nv)), rng.normal(size=(30, model.nv))
    world = World(model, here, there, (q, v, tau))
    with pytest.warns(SingularConfigurationWarning):
        expected = here.forward(q, v, tau)
    for states in ((q, v, tau), world.placed(q, v, tau)):
        with pytest.warns(SingularConfigurationWarning):
            found = there.forward(*states)
        agree(found, expected)


def taken_over(world: World, bits: int = 64) -> list[int]:
    """States that the fast kernel refuses and the robust one does not."""
    kernel = world.there.thread_kernel("forward", bits=bits)
    alone = copy.copy(kernel)
    alone.robust = None
    states = [x.astype(kernel.dtype) for x in world.states]
    refused, left = (set(compute(one, states)[1].tolist()) for one in (alone, kernel))
    assert left <= refused
    return sorted(refused - left)


@pytest.fixture(scope="module")
def legs(device) -> World:
    """Some states have a leg that is stretched, whose conditions alone would be singular."""
    model = two_legs()
    bent, stretched, nearly = (on_two_legs(model, angle) for angle in (0.8, 0.0, 1e-4))
    here, rng = ada.Dynamics(model, q0=bent), np.random.default_rng(5)
    q = np.array([bent, stretched, bent, nearly])
    v = here.project_to_constraints(q, rng.normal(size=(4, model.nv)))[1]
    there = ada.Dynamics(model, q0=bent, device=device)
    return World(model, here, there, (q, v, rng.normal(size=(4, model.nv))))


def test_states_that_the_fast_order_refuses_are_computed_by_the_robust_one_on_the_device(legs):
    expected = legs.here.forward(*legs.states)
    assert taken_over(legs) == [1, 3]
    for states in (legs.states, legs.placed(*legs.states), legs.placed(*legs.states, columns=True)):
        agree(legs.there.forward(*states), expected)


def test_in_single_precision_the_robust_order_computes_in_double_precision(legs):
    assert taken_over(legs, bits=32) == [1, 3]
    floats = [x.astype(np.float32) for x in legs.states]
    expected = legs.here.forward(*(x.astype(float) for x in floats))
    for states in (floats, legs.placed(*floats)):
        found = np.asarray(legs.there.forward(*states))
        assert np.array_equal(found[[1, 3]], expected[[1, 3]].astype(np.float32))


def test_redundant_loops_stay_on_the_device_through_a_full_turn(device):
    model = ada.load("bennett")
    here, rng = ada.Dynamics(model), np.random.default_rng(0)
    q = np.array(
        [ada.close_loops(model, [x, 0.0, 0.0], hold=[model.joint_names[0]]) for x in np.linspace(-3.0, 3.0, 13)]
    )
    v = here.project_to_constraints(q, rng.normal(size=(len(q), model.nv)))[1]
    there = ada.Dynamics(model, device=device)
    world = World(model, here, there, (q, v, rng.normal(size=(len(q), model.nv))))
    assert taken_over(world) == [6]
    assert not len(compute(there.thread_kernel("forward"), list(world.states))[1])
    answers = [Oracle(model).forward(*state).acceleration for state in zip(*world.states, strict=True)]
    agree(there.forward(*world.placed(*world.states)), answers)
    assert np.array_equal(here.forward(*world.states), there.forward(*world.states))


@pytest.mark.parametrize("lies", ["here", "there"])
def test_open_loops_of_a_first_batch_are_told_once(lies, linkage):
    there = ada.Dynamics(linkage.model, device=options_of(linkage.there)["device"])
    q, v, tau = (x.copy() for x in linkage.states)
    q[3, 0] += 0.1
    states = (q, v, tau) if lies == "here" else linkage.placed(q, v, tau)
    with pytest.warns(ConstraintViolationWarning) as caught:
        there.forward(*states)
    assert caught[0].message.states == (3,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        there.forward(*states)
    closed = ada.Dynamics(linkage.model, device=options_of(linkage.there)["device"])
    agree(closed.forward(*(x[:1] for x in linkage.states)), linkage.here.forward(*(x[:1] for x in linkage.states)))


def test_values_that_are_not_finite_are_named_with_their_state(arm):
    q, v, tau = (x.copy() for x in arm.states)
    v[5, 2] = np.inf
    for states in ((q, v, tau), arm.placed(q, v, tau)):
        with refused(InputError, field="v[5, 2]", value=np.inf):
            arm.there.forward(*states)


def test_arrays_that_do_not_fit_are_refused_by_name(arm):
    (q, v, tau), place, forward = arm.states, arm.placed, arm.there.forward
    for call, field, value in (
        (lambda: forward(*place(q, v[:, :6], tau)), "v", (77, 6)),
        (lambda: forward(*place(q.astype(np.float32), v, tau)), "q, v, tau", ("float32", "float64")),
        (lambda: arm.there.forward_derivatives(*place(q, v, tau)), "device", "q"),
        (lambda: arm.there.joint_wrenches(q, *place(v, tau)), "device", "v"),
        (lambda: arm.there.mass_matrix(*place(q)), "device", "q"),
    ):
        with refused(InputError, field=field, value=value):
            call()
    for wrong in (place(q, v, tau[:70]), (q, v, tau[:70]), place(q.astype(int), v, tau)):
        with pytest.raises(InputError):
            forward(*wrong)


def test_questions_that_devices_do_not_answer_are_answered_here_or_refused_by_name(linkage):
    q, *_ = linkage.states
    assert np.array_equal(linkage.there.mass_matrix(q), linkage.here.mass_matrix(q))
    sprung = ada.load("cassie_leg")
    there = ada.Dynamics(sprung, device="host")
    states = [np.zeros((2, n)) for n in (sprung.nq, sprung.nv, sprung.nv)]
    world = World(sprung, there, there, tuple(states))
    with refused(InputError, field="device"):
        there.inverse(*world.placed(*states))


def test_devices_that_are_none_and_models_without_code_of_their_own_are_refused():
    model = ada.load("pa10")
    with refused(InputError, field="device", value="gpu") as caught:
        ada.Dynamics(model, device="gpu")
    assert "cuda" in caught.value.allowed
    for make_it in (
        lambda: ada.Dynamics(ada.planar_chain(70), device="host"),
        lambda: ada.Dynamics(ada.planar_chain(2), kernel="generic", device="host"),
    ):
        with refused(InputError, field="device", value="host"):
            make_it()


def test_a_dynamics_of_a_device_goes_to_another_process_as_one(arm):
    other = pickle.loads(pickle.dumps(arm.there))
    assert options_of(other)["device"] == options_of(arm.there)["device"]
    agree(other.forward(*arm.states), arm.here.forward(*arm.states))


def test_an_array_of_a_device_tells_other_libraries_where_it_lies(arm):
    q, v, tau = arm.states
    found = arm.there.forward(*arm.placed(q, v, tau, columns=True))
    told = found.__cuda_array_interface__
    assert told["shape"] == found.shape == (STATES, 7)
    assert told["strides"] == (8, 8 * STATES)
    assert told["data"][0] == found.block.address
    assert (told["stream"], told["version"], told["typestr"]) == (1, 3, "<f8")
    assert found.__dlpack_device__() == arm.there.device.dlpack_device
    # and is taken again as it lies
    agree(arm.there.forward(found, v, tau), arm.here.forward(np.asarray(found), v, tau))


@pytest.mark.parametrize("columns", [False, True])
def test_refused_states_by_the_thousand_are_fetched_together(arm, columns):
    floats = [np.tile(x.astype(np.float32), (5, 1)) for x in arm.states]
    floats[0][3:340, 2] += 2e5 * np.pi  # beyond what sines of single precision take
    expected = arm.here.forward(*(x.astype(float) for x in floats))
    found = np.asarray(arm.there.forward(*arm.placed(*floats, columns=columns)))
    assert np.array_equal(found[3:340], expected[3:340].astype(np.float32))  # these were computed in double precision
    agree(found, expected, 2e-3)


def test_a_refused_state_is_computed_here_with_vectors_and_wrenches_of_its_own():
    model = ada.planar_chain(2)
    here, there = ada.Dynamics(model), ada.Dynamics(model, device="host")
    rng = np.random.default_rng(6)
    q, v, tau = (x.astype(np.float32) for x in (rng.normal(size=(5, 2)), *rng.normal(size=(2, 2))))
    q[3, 0] += 2e5 * np.pi  # beyond what sines of single precision take
    world = World(model, here, there, ())
    wrenches = {model.link_names[-1]: rng.normal(size=(5, 6))}
    for more in ({}, {"external": wrenches}):
        expected = here.forward(*(x.astype(float) for x in (q, v, tau)), **more)
        found = np.asarray(there.forward(*world.placed(q, v), tau, **more))
        assert np.array_equal(found[3], expected[3].astype(np.float32))
        agree(found, expected, 1e-4)
        agree(there.forward(*world.placed(q), v, tau, **more), expected, 1e-4)
    with refused(InputError, field="q", value=(5, 1, 2)):
        there.forward(*world.placed(q[:, None]), v, tau)
