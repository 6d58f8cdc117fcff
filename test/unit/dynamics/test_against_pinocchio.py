# SPDX-License-Identifier: Apache-2.0
"""Every robot of PyPI's `example-robot-data` gives what pinocchio gives: floating, some fixed to the ground, too."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from foreign_robots import SHARE
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada

pin = pytest.importorskip("pinocchio")
if not hasattr(pin, "buildModelFromUrdf"):
    pytest.skip("the package named pinocchio is not the dynamics library", allow_module_level=True)

Array = NDArray[np.float64]

# Both sides run in double precision through different sums over up to 100 links: 1e-15 to 1e-12 is seen, 1e-10 allowed.
RELATIVE = 1e-10
# pinocchio refuses this one too: its file has a <robot> without a name and no links (it includes others by xacro).
UNREADABLE = {"ur_description/urdf/ur3.urdf"}
# Fixed to the ground these have no joint that moves.
NO_FIXED_BASE = {"hector_description/robots/quadrotor_base.urdf", "iris_description/robots/iris_simple.urdf"}
# In these a joint carries a link without mass: the mass matrix is singular.
SINGULAR = {"romeo_description/urdf/romeo.urdf", "romeo_description/urdf/romeo_laas_small.urdf"}
# Compiled as their own code, not only as a table for the loop kernel.
SPECIALISED = [
    ("panda_description/urdf/panda.urdf", "fixed"),
    ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    ("kinova_description/robots/kinova.urdf", "fixed"),
    ("solo_description/robots/solo12.urdf", "floating"),
    ("hyq_description/robots/hyq_no_sensors.urdf", "floating"),
]
LARGE = [
    ("talos_data/robots/talos_reduced.urdf", "floating"),
    ("romeo_description/urdf/romeo_small.urdf", "floating"),
    ("pr2_description/urdf/pr2.urdf", "fixed"),
]


ROBOTS = SHARE / "example-robot-data/robots" if SHARE else None
FILES = {str(file.relative_to(ROBOTS)): file for file in ROBOTS.rglob("*.urdf")} if ROBOTS else {}
if not FILES:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)
# A few stand for all, whose kinds of joints they have.
FEW = [("double_pendulum_description/urdf/double_pendulum.urdf", "floating"), *SPECIALISED[::-1]]
BASES = {name: ("floating",) if name in NO_FIXED_BASE else ("floating", "fixed") for name in set(FILES) - UNREADABLE}
CASES = [(name, base) for name in sorted(BASES) if name not in SINGULAR for base in BASES[name]]


def marked(cases: list[Any], few: list[Any]) -> list[Any]:
    return [case if case in few else pytest.param(*case, marks=pytest.mark.fuzz) for case in cases]


@dataclass
class Pair:
    """One robot on both sides, and how their coordinates correspond."""

    ours: ada.Model
    theirs: Any
    data: Any
    columns: Array  # our v[i] is their v[columns[i]]

    def their_q(self, q: Array) -> Array:
        """Our positions as theirs: continuous joints are (cos, sin) there."""
        out = pin.neutral(self.theirs)
        for name in self.ours.joint_names:
            own, joint = q[self.ours.q_index(name)], self.theirs.joints[self.theirs.getJointId(name)]
            at = slice(joint.idx_q, joint.idx_q + joint.nq)
            out[at] = [np.cos(own[0]), np.sin(own[0])] if (joint.nq, len(own)) == (2, 1) else own
        return out

    def their_v(self, v: Array) -> Array:
        out = np.zeros(self.theirs.nv)
        out[self.columns] = v
        return out

    def state(self) -> tuple[Array, Array, Array]:
        rng = np.random.default_rng(7)
        q, v = self.ours.random_state(rng)
        # Some files give a rotor the limits +-1e16 rad, where neighbouring doubles are more than a radian apart.
        return np.clip(q, -np.pi, np.pi), v, rng.normal(size=self.ours.nv)


_PAIRS: dict[tuple[str, str], Pair] = {}


def pair(name: str, base: str) -> Pair:
    """Both models of a file, without damping and friction (pinocchio's aba knows neither)."""
    if (name, base) not in _PAIRS:
        read = ada.load(FILES[name], base=base, mimic="free")
        joints = [replace(joint, damping=0.0, friction=0.0) for joint in read.joints.values()]
        ours = ada.Model(read.name, read.root, list(read.links.values()), joints, read.gravity)
        root = [pin.JointModelFreeFlyer()] if base == "floating" else []
        theirs = pin.buildModelFromUrdf(str(FILES[name]), *root)
        columns = np.full(ours.nv, -1)
        for joint_name in ours.joint_names:
            joint = theirs.joints[theirs.getJointId(joint_name)]
            columns[ours.v_index(joint_name)] = np.arange(joint.idx_v, joint.idx_v + joint.nv)
        assert sorted(columns) == list(range(theirs.nv)), "both sides must have the same joints"
        _PAIRS[name, base] = Pair(ours, theirs, theirs.createData(), columns)
    return _PAIRS[name, base]


def their_mass_matrix(both: Pair, q: Array) -> Array:
    M = np.triu(pin.crba(both.theirs, both.data, both.their_q(q)))
    M = M + np.triu(M, 1).T
    return np.asarray(M[np.ix_(both.columns, both.columns)])


def assert_near(ours: Any, theirs: Any, what: str, scale: Any = None) -> None:
    """Equal within RELATIVE of `scale`, by default the largest entry of their result."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    size = np.max(np.abs(theirs), initial=1e-300) if scale is None else scale
    error = float(np.max(np.abs(ours - theirs) / size, initial=0.0))
    assert error < RELATIVE, f"{what}: error {error:.1e} of the scale"


def effort_scale(both: Pair, M: Array, a: Array, rest: Array) -> Array:
    """Per coordinate: what is added up in M a + h, so that entries which cancel are not asked for more digits."""
    return np.abs(M) @ np.abs(a) + np.abs(rest) + 1e-6 * np.max(np.abs(M) @ np.abs(a) + np.abs(rest))


def assert_same_forward(both: Pair, q: Array, v: Array, tau: Array, a: Array) -> None:
    """Accelerations agree as far as the condition of the mass matrix lets two double-precision solvers agree."""
    theirs = pin.aba(both.theirs, both.data, both.their_q(q), both.their_v(v), both.their_v(tau))[both.columns]
    M = their_mass_matrix(both, q)
    h = pin.nonLinearEffects(both.theirs, both.data, both.their_q(q), both.their_v(v))[both.columns]
    assert_near(M @ (a - theirs), 0.0 * a, "forward dynamics, as efforts", effort_scale(both, M, theirs, tau - h))
    d = 1.0 / np.sqrt(np.diag(M))
    condition = float(np.linalg.cond(d[:, None] * M * d))
    error = np.max(np.abs((a - theirs) / d)) / np.max(np.abs(theirs / d))
    assert error < max(RELATIVE, 1e-14 * condition), f"forward dynamics: error {error:.1e}, condition {condition:.1e}"


@pytest.mark.parametrize("name", sorted(UNREADABLE))
def test_what_pinocchio_cannot_read_is_refused_here_too(name: str) -> None:
    with pytest.raises(ValueError):
        pin.buildModelFromUrdf(str(FILES[name]))
    with pytest.raises(ada.ModelError) as caught:
        ada.load(FILES[name])
    assert caught.value.file is None or caught.value.file.endswith(name)


def chosen_links(both: Pair) -> list[str]:
    """Up to four links: some that a joint carries, some behind a fixed joint."""
    frames = [n for n, f in both.ours.tree.frames.items() if f.body >= 0 and n in both.ours.links]
    fixed = [j.child for j in both.ours.joints.values() if j.kind == "fixed" and j.child in frames]
    moved = [n for n in frames if n not in fixed]
    return [*moved[-1:], *moved[len(moved) // 2 :][:1], *fixed[-1:], *fixed[: len(fixed) // 2][-1:]]


REFERENCES = {"local": pin.LOCAL, "world": pin.WORLD, "local_world_aligned": pin.LOCAL_WORLD_ALIGNED}


@pytest.mark.parametrize(("name", "base"), marked(CASES, FEW[:2]))
def test_every_quantity_agrees(name: str, base: str) -> None:
    both = pair(name, base)
    dynamics = ada.Dynamics(both.ours, kernel="generic")
    q, v, a = both.state()
    args = (both.theirs, both.data, both.their_q(q), both.their_v(v))
    M = their_mass_matrix(both, q)
    d = np.sqrt(np.diag(M)) + 1e-9 * np.sqrt(np.max(np.diag(M)))
    assert_near(dynamics.mass_matrix(q), M, "mass matrix", np.outer(d, d))
    assert_near(dynamics.bias(q, v), pin.nonLinearEffects(*args)[both.columns], "bias")
    gravity = pin.computeGeneralizedGravity(*args[:3])[both.columns]
    assert_near(dynamics.gravity(q), gravity, "gravity", np.max(np.abs(gravity)) + 1e-6)
    assert_near(dynamics.com(q), pin.centerOfMass(*args[:3]), "CoM", 1.0)  # within 1e-10 m
    assert_near(dynamics.com_jacobian(q), pin.jacobianCenterOfMass(*args[:3])[:, both.columns], "CoM Jacobian")
    A = pin.computeCentroidalMap(*args[:3])[:, both.columns]
    assert_near(dynamics.momentum_matrix(q), A, "centroidal momentum matrix")
    momentum = pin.computeCentroidalMomentum(*args).vector
    assert_near(dynamics.momentum(q, v), momentum, "centroidal momentum", np.max(np.abs(A) @ np.abs(v[:, None])))
    kinetic, potential = dynamics.energy(q, v)
    assert_near(kinetic, pin.computeKineticEnergy(*args), "kinetic energy")
    assert_near(potential, pin.computePotentialEnergy(*args[:3]), "potential energy", 9.81 * both.ours.total_mass)
    pin.forwardKinematics(*args, both.their_v(a))
    pin.computeJointJacobiansTimeVariation(*args)
    pin.updateFramePlacements(*args[:2])
    for link in chosen_links(both):
        frame = both.theirs.getFrameId(link, pin.FrameType.BODY)
        for pose in (dynamics.pose(link, q), dynamics.forward_kinematics(q)[link]):
            assert_near(pose, both.data.oMf[frame].homogeneous, f"pose of {link}", 1.0)
        for kind, reference in REFERENCES.items():
            J = pin.getFrameJacobian(*args[:2], frame, reference)[:, both.columns]
            assert_near(dynamics.jacobian(link, q, kind), J, f"{kind} Jacobian of {link}")
            scale = np.max(np.abs(J)) * np.max(np.abs(v))
            rate = pin.getFrameJacobianTimeVariation(*args[:2], frame, reference)[:, both.columns]
            assert_near(dynamics.jacobian_rate(link, q, v, kind), rate, f"rate of the {kind} Jacobian of {link}", scale)
        velocity = pin.getFrameVelocity(*args[:2], frame, pin.LOCAL_WORLD_ALIGNED).vector
        assert_near(dynamics.velocity(link, q, v), velocity, f"velocity of {link}")
        acceleration = pin.getFrameClassicalAcceleration(*args[:2], frame, pin.LOCAL_WORLD_ALIGNED).vector
        assert_near(dynamics.acceleration(link, q, v, a), acceleration, f"acceleration of {link}")


KERNELS = [(*case, "specialised") for case in [*SPECIALISED, *LARGE]]
KERNELS += [(*case, "generic") for case in CASES]
FAST = [(*case, kernel) for case in FEW for kernel in ("generic", "specialised")]


@pytest.mark.parametrize(("name", "base", "kernel"), marked(KERNELS, FAST))
def test_forward_and_inverse_dynamics_agree(name: str, base: str, kernel: Any) -> None:
    both = pair(name, base)
    dynamics = ada.Dynamics(both.ours, kernel=kernel)
    q, v, u = both.state()
    assert_same_forward(both, q, v, u, dynamics.forward(q, v, u))
    theirs = pin.rnea(both.theirs, both.data, both.their_q(q), both.their_v(v), both.their_v(u))[both.columns]
    scale = effort_scale(both, their_mass_matrix(both, q), u, theirs)
    assert_near(dynamics.inverse(q, v, u), theirs, "inverse dynamics", scale)


@pytest.mark.parametrize("name", sorted(SINGULAR))
def test_a_robot_with_massless_fingers_is_refused_where_pinocchio_gives_no_number(name: str) -> None:
    both = pair(name, "fixed")
    with refused(ada.ModelError, field="inertia") as caught:
        ada.Dynamics(both.ours)
    assert caught.value.joint in both.ours.joints
    q, v, u = both.state()
    theirs = pin.aba(both.theirs, both.data, both.their_q(q), both.their_v(v), both.their_v(u))
    M = their_mass_matrix(both, q)
    assert not np.isfinite(theirs).all() or np.linalg.matrix_rank(M) < both.ours.nv
