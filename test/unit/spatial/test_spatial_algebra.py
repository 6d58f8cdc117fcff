# SPDX-License-Identifier: Apache-2.0
"""The spatial algebra is that of Takahashi 2012, appendix A, on floats and through the expression graph alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ada_dynamics.expr import cos, evaluate, sin, trace
from ada_dynamics.spatial import rotation as rot
from ada_dynamics.spatial.inertia import NO_CROSS_INERTIA, ArticulatedInertia, CrossInertia, RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, Mat3, Vec3, symmetric_of

linalg = pytest.importorskip("scipy.linalg")
ScipyRotation = pytest.importorskip("scipy.spatial.transform").Rotation

Array = NDArray[np.float64]
Body = Callable[[Any], Any]

# Sums of a few products of numbers up to 10: rounding is below 1e-13, absolute.
ABSOLUTE = 1e-12


# Tracing costs milliseconds per example, and each example has up to 30 free numbers.
few = settings(max_examples=15)


def on_floats(body: Body, x: Array) -> Array:
    return np.array(body(tuple(x.tolist())), dtype=float)


def through_the_graph(body: Body, x: Array) -> Array:
    function = trace("body", {"x": len(x)}, lambda x: {"result": body(x)})
    return np.asarray(evaluate(function, x=x.tolist())["result"], dtype=float)


@pytest.fixture(params=[on_floats, through_the_graph], ids=["floats", "traced"], scope="module")
def run(request: pytest.FixtureRequest) -> Callable[[Body, Array], Array]:
    return request.param


def numbers(n: int) -> st.SearchStrategy[Array]:
    """Also zeros, which the library treats on their own."""
    one = st.floats(-3.0, 3.0, allow_subnormal=False)
    return st.lists(st.one_of(one, st.sampled_from([0.0, -0.0, 1.0])), min_size=n, max_size=n).map(np.array)


def unit_vectors(n: int) -> st.SearchStrategy[Array]:
    """Directions, or quaternions."""
    return numbers(n).filter(lambda a: np.linalg.norm(a) > 0.1).map(lambda a: a / np.linalg.norm(a))


def poses() -> st.SearchStrategy[Array]:
    return st.tuples(unit_vectors(4), numbers(3)).map(np.concatenate)


def transform(x: Any) -> Transform:
    """From quaternion and position, over any scalars."""
    return Transform(rot.MatrixRotation(rot.from_quaternion(*x[:4])), Vec3(*x[4:7]))


def near(ours: Any, theirs: Any, within: float = ABSOLUTE) -> bool:
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    return bool(np.max(np.abs(ours - theirs), initial=0.0) <= within * max(1.0, np.max(np.abs(theirs), initial=0.0)))


def skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def dense_rotation(x: Array) -> Array:
    return np.asarray(ScipyRotation.from_quat(x[:4]).as_matrix())


def motion_matrix(x: Array) -> Array:
    R, D, zero = dense_rotation(x).T, skew(x[4:7]), np.zeros((3, 3))
    return np.block([[R, zero], [-R @ D, R]])


def force_matrix(x: Array) -> Array:
    R, D, zero = dense_rotation(x).T, skew(x[4:7]), np.zeros((3, 3))
    return np.block([[R, -R @ D], [zero, R]])


def cross_matrix(V: Array) -> Array:
    return np.block([[skew(V[:3]), np.zeros((3, 3))], [skew(V[3:]), skew(V[:3])]])


def inertia_of(x: Array) -> tuple[float, Array, Array]:
    """Mass, CoM and a tensor about it that a body can have, from 10 numbers."""
    A = np.array([[x[1], x[2], x[3]], [0.0, x[4], x[5]], [0.0, 0.0, x[6]]])
    return 0.1 + abs(float(x[0])), x[7:10], A @ A.T + 0.1 * np.eye(3)


def dense_inertia(mass: float, com: Array, about: Array) -> Array:
    D = skew(com)
    return np.block([[about + mass * D @ D.T, mass * D], [mass * D.T, mass * np.eye(3)]])


def flat(m: Motion | Force) -> tuple[Any, ...]:
    return (*m[0], *m[1])


def motion(x: Any) -> Motion:
    return Motion(Vec3(*x[:3]), Vec3(*x[3:6]))


def force(x: Any) -> Force:
    return Force(Vec3(*x[:3]), Vec3(*x[3:6]))


def body(x: Any) -> RigidInertia:
    return RigidInertia.from_com(x[0], Vec3(*x[1:4]), symmetric_of(x[4:10]))


def by_columns(operator: Callable[[Any], Any], kind: Callable[[Any], Any]) -> list[list[Any]]:
    """6x6 matrix of a linear map of motions or forces."""
    columns = [flat(operator(kind([1.0 if i == j else 0.0 for i in range(6)]))) for j in range(6)]
    return [list(row) for row in zip(*columns, strict=True)]


def motion_to_child(X: Transform) -> list[list[Any]]:
    return by_columns(X.to_child, motion)


def packed(mass: float, com: Array, about: Array) -> Array:
    return np.array([mass, *com, *about[np.triu_indices(3)]])


@pytest.mark.parametrize("s", [2.0, np.float64(2.0), np.longdouble(2.0), np.array([2.0, 3.0]), ZERO], ids=repr)
def test_a_number_of_any_kind_scales_a_vector_by_components(s: Any) -> None:
    a = Vec3(1.0, ZERO, 4.0)
    scaled = s * Force(a, a)
    for part in (s * a, scaled.moment, scaled.force):
        assert type(part) is Vec3 and part[1] is ZERO
        assert np.array_equal(part[0], s) and np.array_equal(part[2], 4.0 * s)


@few
@given(x=numbers(12))
def test_power_is_the_same_at_every_reference_point(run: Any, x: Array) -> None:
    V, F, d = x[:6], np.array([*x[6:9], *x[:3][::-1]]), x[9:12]
    joined = np.concatenate([V, F, d])
    moved_V = np.concatenate([V[:3], V[3:] + np.cross(V[:3], d)])
    moved_F = np.concatenate([F[:3] - np.cross(d, F[3:]), F[3:]])
    assert near(run(lambda x: flat(motion(x).at(Vec3(*x[12:15]))), joined), moved_V)
    assert near(run(lambda x: flat(force(x[6:]).at(Vec3(*x[12:15]))), joined), moved_F)

    def at_both(x: Any) -> Any:
        V, F, d = motion(x), force(x[6:]), Vec3(*x[12:])
        return [V @ F, V.at(d) @ F.at(d)]

    assert near(run(at_both, joined), [V @ F, V @ F])


@few
@given(x=poses(), m=numbers(6))
def test_transforms_are_the_matrices_of_eqs_a14_to_a17(run: Any, x: Array, m: Array) -> None:
    joined = np.concatenate([x, m])
    X, Xf = motion_matrix(x), force_matrix(x)
    assert near(run(lambda x: flat(transform(x).to_child(motion(x[7:]))), joined), X @ m)
    assert near(run(lambda x: flat(transform(x).to_child(force(x[7:]))), joined), Xf @ m)
    assert near(run(lambda x: flat(transform(x).to_parent(motion(x[7:]))), joined), np.linalg.inv(X) @ m)
    assert near(run(lambda x: flat(transform(x).to_parent(force(x[7:]))), joined), np.linalg.inv(Xf) @ m)
    assert near(run(lambda x: motion_to_child(transform(x)), x), X)
    assert near(run(lambda x: by_columns(transform(x).to_child, force), x), Xf)


@few
@given(x=poses(), y=poses(), z=poses(), p=numbers(3))
def test_transforms_form_a_group(run: Any, x: Array, y: Array, z: Array, p: Array) -> None:
    joined = np.concatenate([x, y, z, p])
    X, Y, Z = (motion_matrix(a) for a in (x, y, z))

    def three(x: Any) -> tuple[Transform, Transform, Transform]:
        return transform(x), transform(x[7:]), transform(x[14:])

    def left(x: Any) -> Any:
        a, b, c = three(x)
        return motion_to_child(a @ b @ c)

    def right(x: Any) -> Any:
        a, b, c = three(x)
        return motion_to_child(a @ (b @ c))

    def there_and_back(x: Any) -> Any:
        return motion_to_child(transform(x) @ transform(x).inverse())

    assert near(run(left, joined), Z @ Y @ X, 1e-11)  # three positions of length 5 add up
    assert near(run(right, joined), Z @ Y @ X, 1e-11)
    assert near(run(there_and_back, joined), np.eye(6))
    assert near(run(lambda x: motion_to_child(transform(x) @ Transform()), x), X)
    assert near(run(lambda x: transform(x).point(Vec3(*x[21:24])), joined), dense_rotation(x) @ p + x[4:7])


@few
@given(x=poses(), m=numbers(6), V=numbers(6), h=st.just(1e-5))
def test_cross_products_are_rates_of_vectors_fixed_in_a_moving_frame(
    run: Any, x: Array, m: Array, V: Array, h: float
) -> None:
    ours = run(lambda x: flat(motion(x).cross_force(force(x[6:]))), np.concatenate([V, m]))
    assert near(ours, -cross_matrix(V).T @ m)

    # Seen at the fixed frame, with V given there; both frames coincide at time 0 where x plays no part.
    def seen(t: float, dense: Callable[[Array], Array]) -> Array:
        """The vector m, fixed in the moving frame, seen from the fixed one at time t."""
        twist = np.block([[skew(V[:3]), V[3:, None]], [np.zeros((1, 4))]])
        T = linalg.expm(twist * t)
        pose = np.concatenate([ScipyRotation.from_matrix(T[:3, :3]).as_quat(), T[:3, 3]])
        return np.linalg.inv(dense(pose)) @ m

    # The difference's own error: h² |V|³ |m| < 1e-6 and rounding 1e-16/h |m| < 1e-9.
    for dense, expected in ((motion_matrix, cross_matrix(V) @ m), (force_matrix, -cross_matrix(V).T @ m)):
        assert near((seen(h, dense) - seen(-h, dense)) / (2.0 * h), expected, 1e-6)


@few
@given(x=numbers(10), V=numbers(6))
def test_rigid_inertia_gives_momentum_as_eqs_a23_to_a29(run: Any, x: Array, V: Array) -> None:
    m, c, about = inertia_of(x)
    I, joined = dense_inertia(m, c, about), np.concatenate([packed(m, c, about), V])
    assert near(run(lambda x: body(x[:10]).matrix(), joined), I)
    momentum = run(lambda x: flat(body(x[:10]) @ motion(x[10:])), joined)
    assert near(momentum, I @ V, 1e-11)
    # eqs. A.20-A.22, from the momentum of the CoM
    v_c = V[3:] + np.cross(V[:3], c)
    assert near(momentum, [*(about @ V[:3] + np.cross(c, m * v_c)), *(m * v_c)], 1e-11)
    articulated = run(lambda x: flat(ArticulatedInertia.of_rigid(body(x[:10])) @ motion(x[10:])), joined)
    assert near(articulated, I @ V, 1e-11)


@few
@given(x=numbers(10))
def test_the_inverse_inertia_is_that_of_eq_a34(run: Any, x: Array) -> None:
    m, c, about = inertia_of(x)
    D, J = skew(c), np.linalg.inv(about)
    printed = np.block([[J, J @ D.T], [D @ J, np.eye(3) / m + D @ J @ D.T]])
    ours = run(lambda x: body(x[:10]).inverse_matrix(), packed(m, c, about))
    # The tensor about the CoM is recovered by subtracting m |c|² < 90, its smallest eigenvalue is 0.1 at least and its
    # condition below 500: 1e-16 * 90 / 0.1 * 500 < 1e-10.
    assert near(ours, printed, 1e-9)
    assert near(ours @ dense_inertia(m, c, about), np.eye(6), 1e-8)


@few
@given(x=numbers(10), y=numbers(10), pose=poses())
def test_inertias_transform_as_eqs_a37_and_a40_and_combine(run: Any, x: Array, y: Array, pose: Array) -> None:
    first, second = inertia_of(x), inertia_of(y)
    joined = np.concatenate([packed(*first), packed(*second), pose])
    A, B, X = dense_inertia(*first), dense_inertia(*second), motion_matrix(pose)
    # from B to A: ᴬI = ᴬX*_B ᴮI ᴮX_A
    assert near(run(lambda x: transform(x[20:]).to_parent(body(x[:10])).matrix(), joined), X.T @ A @ X, 1e-11)
    assert near(run(lambda x: (body(x[:10]) + body(x[10:20])).matrix(), joined), A + B)
    assert near(run(lambda x: (body(x[:10]) - body(x[10:20])).matrix(), joined), A - B)
    assert near(run(lambda x: (3.0 * body(x[:10])).matrix(), joined), 3.0 * A)

    def articulated(x: Any) -> Any:
        both = ArticulatedInertia.of_rigid(body(x[:10])) + ArticulatedInertia.of_rigid(body(x[10:20]))
        return by_columns(transform(x[20:]).to_parent(both).__matmul__, motion)

    assert near(run(articulated, joined), X.T @ (A + B) @ X, 1e-11)
    # A.40 for the inverse: ᴬΦ = ᴬX_B ᴮΦ ᴮX*_A
    inverse = run(lambda x: transform(x[20:]).to_parent(body(x[:10])).inverse_matrix(), joined)
    back = np.linalg.inv(X)
    assert near(inverse, back @ np.linalg.inv(A) @ back.T, 1e-7)  # as above, with m |c|² up to 1000


@few
@given(x=numbers(10), s=numbers(6).filter(lambda s: np.linalg.norm(s) > 0.3))
def test_freeing_a_joint_takes_the_outer_product_off(run: Any, x: Array, s: Array) -> None:
    A = dense_inertia(*inertia_of(x))

    def freed(x: Any) -> Any:
        I, S = ArticulatedInertia.of_rigid(body(x[:10])), motion(x[10:])
        U = I @ S
        return by_columns(I.less_outer(U, 1.0 / (S @ U) * U).__matmul__, motion)

    ours = run(freed, np.concatenate([packed(*inertia_of(x)), s]))
    assert near(ours, A - np.outer(A @ s, A @ s) / (s @ A @ s), 1e-10)
    assert near(ours @ s, np.zeros(6), 1e-10 * np.max(np.abs(A)))


@few
@given(a=unit_vectors(3), angle=st.floats(-7.0, 7.0))
def test_rodrigues_is_the_matrix_exponential(run: Any, a: Array, angle: float) -> None:
    ours = run(lambda x: rot.from_axis_angle(Vec3(*x[:3]), x[3]), np.array([*a, angle]))
    assert near(ours, linalg.expm(skew(a) * angle))


@few
@given(p=unit_vectors(4), scale=st.floats(0.9, 1.1))
def test_quaternions_turn_as_in_scipy_and_their_length_plays_no_part(run: Any, p: Array, scale: float) -> None:
    ours = run(lambda x: rot.from_quaternion(*x), scale * p)
    assert near(ours, ScipyRotation.from_quat(p).as_matrix())
    assert near(ours @ ours.T, np.eye(3))


@pytest.mark.parametrize("k", [0, 1, 2])
@few
@given(x=numbers(11))
def test_every_kind_of_rotation_works_alike(run: Any, k: int, x: Array) -> None:
    angle, second, v, S = x[0], x[1], x[2:5], x[5:11]
    R1 = ScipyRotation.from_rotvec(angle * np.eye(3)[k]).as_matrix()
    R2 = ScipyRotation.from_rotvec(second * np.eye(3)[(k + 1) % 3]).as_matrix()
    A = np.array([[S[0], S[1], S[2]], [S[1], S[3], S[4]], [S[2], S[4], S[5]]])
    B = np.outer(v, S[:3]) + A  # not symmetric

    def kinds(x: Any) -> list[Any]:
        axis = rot.AxisRotation(k, cos(x[0]), sin(x[0]))
        other = rot.AxisRotation((k + 1) % 3, cos(x[1]), sin(x[1]))
        return [axis, rot.MatrixRotation(axis.matrix()), rot.Product(axis, other), rot.Product(rot.IDENTITY, axis)]

    def matrix(x: Any, symmetric: bool) -> Any:
        M = symmetric_of(x[5:11])
        return M if symmetric else M + Mat3(*(x[2 + i] * Vec3(*x[5:8]) for i in range(3)))

    for i, R in enumerate([R1, R1, R1 @ R2, R1]):
        assert near(run(lambda x, i=i: kinds(x)[i].matrix(), x), R)
        assert near(run(lambda x, i=i: kinds(x)[i].inverse().matrix(), x), R.T)
        assert near(run(lambda x, i=i: kinds(x)[i].to_parent(Vec3(*x[2:5])), x), R @ v)
        assert near(run(lambda x, i=i: kinds(x)[i].to_child(Vec3(*x[2:5])), x), R.T @ v)
        assert near(run(lambda x, i=i: kinds(x)[i].conjugate_symmetric(matrix(x, True)), x), R @ A @ R.T, 1e-11)
        assert near(run(lambda x, i=i: kinds(x)[i].conjugate(matrix(x, False)), x), R @ B @ R.T, 1e-11)


K, L = np.random.default_rng(5).normal(size=(2, 6, 6))
ROUNDING = 1e-14  # sums of some dozen products of numbers up to 3


def coupling(matrix: Array) -> CrossInertia:
    """Inertia between two bodies."""
    return CrossInertia(*(Mat3.of(matrix[i : i + 3, j : j + 3].tolist()) for i in (0, 3) for j in (0, 3)))


def dense(operator: Any) -> list[list[Any]]:
    return by_columns(lambda m: operator @ m, motion)


def test_a_cross_inertia_maps_adds_and_turns_round_as_its_matrix() -> None:
    assert near(dense(coupling(K)), K, ROUNDING)
    assert near(dense(coupling(K) + coupling(L)), K + L, ROUNDING)
    assert near(dense(coupling(K) + NO_CROSS_INERTIA), K, ROUNDING)
    assert near(dense(coupling(K).T), K.T, ROUNDING)
    assert near(dense(coupling(K).with_transposed()), K + K.T, ROUNDING)


def test_an_outer_product_is_taken_off() -> None:
    here, there = np.random.default_rng(6).normal(size=(2, 6))
    less = coupling(K).less_outer(force(here.tolist()), force(there.tolist()))
    assert near(dense(less), K - np.outer(here, there), ROUNDING)


def test_from_the_parent_a_cross_inertia_takes_the_parents_acceleration() -> None:
    pose = np.concatenate([ScipyRotation.random(random_state=2).as_quat(), np.random.default_rng(7).normal(size=3)])
    assert near(dense(coupling(K).from_parent(transform(pose.tolist()))), K @ motion_matrix(pose), ROUNDING)


@pytest.mark.parametrize("x", [2.5, np.longdouble(2.5), np.array([1.0, -2.0])], ids=repr)
def test_the_constant_zero_leaves_no_term_whatever_it_meets(x: Any) -> None:
    assert ZERO + x is x
    assert x + ZERO is x
    assert x - ZERO is x
    assert np.array_equal(ZERO - x, -x)
    for product in (ZERO * x, x * ZERO, ZERO / x, -ZERO):
        assert product is ZERO


A = np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])


def test_public_vectors_have_the_linear_part_first() -> None:
    V, F = Motion.linear_first(A.tolist()), Force.force_first(A.tolist())
    assert V == (Vec3(7.0, 11.0, 13.0), Vec3(2.0, 3.0, 5.0)) == (V.angular, V.linear)
    assert F == (Vec3(7.0, 11.0, 13.0), Vec3(2.0, 3.0, 5.0)) == (F.moment, F.force)
