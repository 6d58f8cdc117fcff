# SPDX-License-Identifier: Apache-2.0
"""One evaluation in log depth, really run: the balanced order of a chain or ring, by depths, in lanes and on threads.

Bodies of one depth lie in one array in bit-reversed order, so that the inner bodies of the next depth's pairs are its
first half, the outer ones its second, and the joint of pair p stands at the outer's place: nothing is copied. Each
thread takes a block of neighbours from its links to one body, and back; in between the blocks are joined. A ring is
the same but for its last step, which closes the joints at both ends of the whole chain at once. On a graphics processor
the steps of each depth are one launch, a thread for each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import ada_dynamics as ada
from ada_dynamics.algorithms.articulated_body import FreeBody
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.errors import InputError
from ada_dynamics.model.tree import WORLD, Body, Loop
from ada_dynamics.robots import mechanisms
from ada_dynamics.spatial.transform import Transform
from benchmarks import assembly_steps
from benchmarks.assembly_steps import BOTH, PAIR, Kind
from benchmarks.parallel_model import TIP
from benchmarks.parallel_sites import Here, Run, Site

ACROSS = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # from one joint's frame to the next
ONE, TWO = 27, 90  # numbers of an articulated body with so many handles
LENGTHS = (16, 64, 256, 1024, 4096, 16384)  # links of chains and rings to be compared
REPEATS = 5  # of a run, in one round
BENT = 1.0  # about what the joints of a ring turn away from its first pose in all [rad]
CLOSING_STEPS = 5


def chain(n: int) -> ada.Model:
    """A chain of n equal rods whose joints turn about their own z axes, each across the one before."""
    mass, about = 1.0, 0.01 * np.array([[1.0, 0.05, 0.02], [0.05, 1.1, -0.04], [0.02, -0.04, 0.3]])
    builder = ada.Builder(f"crossed_{n}").link("base", mass)
    for i in range(n):
        builder.link(f"link_{i}", mass, (0.01, 0.02, 0.05), about)
        parent, height = ("base", 0.0) if i == 0 else (f"link_{i - 1}", 0.1)
        at = (0.0, 0.0, height)
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", at, rotation=ACROSS, axis=(0.0, 0.0, 1.0))
    return builder.build()


class Start(NamedTuple):
    """A mechanism in a state."""

    model: ada.Model
    q: Array
    v: Array
    tau: Array


def on_chain(n: int) -> Start:
    """A chain of n moving links in any state."""
    rng = np.random.default_rng(n)
    return Start(chain(n), *(rng.normal(size=n) for _ in range(3)))


def on_ring(n: int) -> Start:
    """A ring of n moving links of 0.1 m and the ground, in a state that keeps it closed."""
    model = mechanisms.ring(n + 1, radius=0.05 * (n + 1) / np.pi, mass=n + 1.0).model
    numbers, rng = ConstraintSet(model), np.random.default_rng(n)
    q = rng.normal(size=n, scale=BENT / n)
    for _ in range(CLOSING_STEPS):
        q -= np.linalg.pinv(numbers.jacobian(q)) @ numbers.violation(q)
    J = numbers.jacobian(q)
    v = rng.normal(size=n)
    return Start(model, q, v - np.linalg.pinv(J) @ (J @ v), rng.normal(size=n))


class Steps:
    """All kernels; they know nothing of the chain."""

    def __init__(self, site: Site | None = None) -> None:
        """Compile for a site; None: for this process."""
        self.site = site or Here()
        step = self.site.step
        self.link = step(assembly_steps.free_link())
        self.own_turn, self.turn = step(assembly_steps.own_turn()), step(assembly_steps.turn())
        self.turned = step(assembly_steps.turned())
        self.up = {kind: step(assembly_steps.assembly(kind)) for kind in (PAIR, BOTH, TIP)}
        self.down = {kind: step(assembly_steps.release(kind)) for kind in (PAIR, BOTH, TIP)}
        self.closing = step(assembly_steps.closing())


class Pairs:
    """Neighbouring bodies, as many as a power of two, joined pair by pair to one.

    Attributes:
        place, q, v, tau: of the joint that carries each body.
        rate: accelerations of these joints; that of the first is not found here.
        before: velocity of the link that carries each body.
        turns, joined, forces: by depth: of the bodies to be joined, of the pairs, ..., of the one.
        turn_up, turn_down, up, down: calls, in order.
    """

    def __init__(self, steps: Steps, first: Kind, place: Array) -> None:
        """Lay out everything.

        Args:
            steps: kernels.
            first: PAIR where the bodies are links, BOTH where they have two handles.
            place: of the joints on their parents, in bit-reversed order.
        """
        count, zeros = len(place), steps.site.zeros
        self.place = steps.site.placed(place)
        self.q, self.v, self.tau, self.rate = (zeros(count, 1) for _ in range(4))
        self.before = zeros(count, 3)
        widths = [count >> k for k in range(count.bit_length())]
        handles = [ONE if first == PAIR else TWO] + [TWO] * (len(widths) - 1)
        self.turns = [zeros(m, 12) for m in widths]
        self.joined = [zeros(m, size) for m, size in zip(widths, handles, strict=True)]
        self.forces = [zeros(m, 12) for m in widths]
        self.turn_up: list[Run] = []
        self.turn_down: list[Run] = []
        self.up: list[Run] = []
        self.down: list[Run] = []
        for depth, m in enumerate(widths[1:], start=1):
            self._join(steps, first if depth == 1 else BOTH, depth, slice(0, m), slice(m, 2 * m))
        self.turn_down.reverse()
        self.down.reverse()

    def _join(self, steps: Steps, kind: Kind, depth: int, inner: slice, outer: slice) -> None:
        turns, joined, forces = (rows[depth - 1] for rows in (self.turns, self.joined, self.forces))
        self.turn_up.append(steps.turn.on(inner=turns[inner], outer=turns[outer], joined=self.turns[depth]))
        self.turn_down.append(steps.turned.on(before=self.before[inner], turn=turns[inner], behind=self.before[outer]))
        way = steps.site.zeros(inner.stop, assembly_steps.way_size(kind))
        joint = {"place": self.place[outer], "q": self.q[outer], "tau": self.tau[outer]}
        self.up.append(
            steps.up[kind].on(
                own=joined[outer],
                v=self.v[outer],
                w=self.before[outer],
                other=joined[inner],
                joined=self.joined[depth],
                way=way,
                **joint,
            )
        )
        below = {} if kind == PAIR else {"inner": forces[inner], "outer": forces[outer]}
        self.down.append(
            steps.down[kind].on(way=way, forces=self.forces[depth], rate=self.rate[outer], **joint, **below)
        )


class Times(NamedTuple):
    """Of one evaluation [s], by the clock on the wall, and how far results are apart."""

    sequential: float
    by_depths: list[float]
    difference: float


def times(start: Start, dynamics: ada.Dynamics, chains: Sequence[Chain], rounds: int) -> Times:
    """The library's sequential algorithm, and log depth in some ways, in turn.

    The least of all rounds: what runs beside them takes nothing from that.
    """
    _, q, v, tau = start
    expected = dynamics.forward(q, v, tau)
    for one in chains:
        one.set(q, v, tau)
        one.run()
    off = max(float(np.abs(one.acceleration - expected).max()) for one in chains) / float(np.abs(expected).max())
    runs: list[Run] = [lambda: dynamics.forward(q, v, tau), *(one.run for one in chains)]
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for of, run in zip(found, runs, strict=True):
            begin = time.perf_counter()
            for _ in range(REPEATS):
                run()
            of.append((time.perf_counter() - begin) / REPEATS)
    sequential, *by_depths = map(min, found)
    return Times(sequential, by_depths, off)


def compared(start: Start) -> ada.Dynamics:
    """What log depth is compared with: ABA, and for loops what the library chooses."""
    model = start.model
    return ada.Dynamics(model, q0=start.q) if model.loops else ada.Dynamics(model, "aba")


class Chain:
    """Forward dynamics of a chain of revolute joints, open or closed by one, by as many threads as there are blocks."""

    def __init__(self, model: ada.Model, steps: Steps, threads: int = 1) -> None:
        """Lay out all arrays.

        Args:
            model: each link carries the next; the last one may be joined to the ground again. As many moving links as
                a power of two, at least two for each thread.
            steps: kernels.
            threads: a power of two.
        """
        tree = model.uniform_tree
        bodies = tree.bodies
        n = len(bodies)
        if n & (n - 1) or threads & (threads - 1) or n < 2 * threads:
            text = f"{n} links and {threads} threads: give powers of two, and two links for each thread."
            raise InputError(text, field="threads", value=(n, threads))
        each = n // threads
        within, among = _bit_reversed(each), _bit_reversed(threads)
        self._where = [(block, block * each + within) for block in range(threads)]
        self._site = site = steps.site
        self._blocks = [Pairs(steps, PAIR, _places([bodies[i] for i in links])) for _, links in self._where]
        firsts = [bodies[block * each] for block in among]
        self._top = Pairs(steps, BOTH, _places(firsts)) if threads > 1 else self._blocks[0]
        self._rows = np.argsort(among)  # of the blocks in the top's arrays
        self._links: list[list[Run]] = []
        self._own: list[Run] = []
        for block, (_, links) in zip(self._blocks, self._where, strict=True):
            own = {"place": block.place, "q": block.q, "v": block.v}
            self._own.append(steps.own_turn.on(**own, turn=block.turns[0]))
            w = site.zeros(each, 3)
            constants = {name: site.placed(rows) for name, rows in _inertias([bodies[i] for i in links]).items()}
            turned = steps.turned.on(before=block.before, turn=block.turns[0], behind=w)
            free = steps.link.on(w=w, body=block.joined[0], **constants)
            self._links += [[turned, free]]
        upward = site.placed(np.array([[-g for g in tree.gravity]]))
        ends = [self._ring(steps, upward, loop) for loop in tree.loops] or [self._tip(steps, upward)]
        self._ends = ends[0]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.acceleration = np.zeros(n)

    def _ring(self, steps: Steps, upward: Array, loop: Loop) -> list[Run]:
        """The joints to the ground at both ends, closed at once."""
        top = self._top
        seat = (loop if loop.child == WORLD else loop.turned()).parent_pose
        run = steps.closing.on(
            own=top.joined[-1],
            q=top.q[:1],
            v=top.v[:1],
            tau=top.tau[:1],
            upward=upward,
            place=top.place[:1],
            turn=top.turns[-1],
            seat=steps.site.placed(np.array([_place(seat)])),
            rate=top.rate[:1],
            forces=top.forces[-1],
        )
        return [run]

    def _tip(self, steps: Steps, upward: Array) -> list[Run]:
        """The joint to the ground; the last link is free."""
        top, zeros = self._top, steps.site.zeros
        joint = {"place": top.place[:1], "q": top.q[:1], "tau": top.tau[:1]}
        way = zeros(1, assembly_steps.way_size(TIP))
        up = steps.up[TIP].on(
            own=top.joined[-1], v=top.v[:1], w=zeros(1, 3), upward=upward, joined=zeros(1, ONE), way=way, **joint
        )
        down = steps.down[TIP].on(way=way, forces=zeros(1, 6), rate=top.rate[:1], outer=top.forces[-1], **joint)
        return [up, down]

    def set(self, q: Array, v: Array, tau: Array) -> None:
        """Take a state."""
        for block, (number, links) in zip(self._blocks, self._where, strict=True):
            for name, values in (("q", q), ("v", v), ("tau", tau)):
                rows = getattr(block, name)
                rows[:, 0] = values[links]
                self._site.put(rows)
                if len(self._blocks) > 1:
                    getattr(self._top, name)[self._rows[number]] = rows[0]

    def run(self) -> None:
        """Evaluate."""
        if len(self._blocks) == 1:
            (block,) = self._blocks
            around = [*block.turn_down, *self._links[0], *block.up, *self._ends, *block.down]
            _all([self._own[0], *block.turn_up, *around])
        else:
            self._in_blocks()
        for block, (number, links) in zip(self._blocks, self._where, strict=True):
            self._site.get(block.rate)
            self.acceleration[links] = block.rate[:, 0]
            self.acceleration[number * len(links)] = self._top.rate[self._rows[number], 0]

    def _in_blocks(self) -> None:
        """The threads meet four times."""
        top, blocks, rows = self._top, self._blocks, self._rows
        self._each(lambda i: _all([self._own[i], *blocks[i].turn_up]))
        for block, row in zip(blocks, rows, strict=True):
            top.turns[0][row] = block.turns[-1][0]
        _all([*top.turn_up, *top.turn_down])
        for block, row in zip(blocks, rows, strict=True):
            block.before[0] = top.before[row]
        self._each(lambda i: _all([*blocks[i].turn_down, *self._links[i], *blocks[i].up]))
        for block, row in zip(blocks, rows, strict=True):
            top.joined[0][row] = block.joined[-1][0]
        _all([*top.up, *self._ends, *top.down])
        for block, row in zip(blocks, rows, strict=True):
            block.forces[-1][0] = top.forces[0][row]
        self._each(lambda i: _all(blocks[i].down))

    def _each(self, work: Callable[[int], None]) -> None:
        if self._pool is None:
            work(0)
        else:
            list(self._pool.map(work, range(len(self._blocks))))


def _all(runs: Sequence[Run]) -> None:
    for run in runs:
        run()


def _bit_reversed(count: int) -> npt.NDArray[np.intp]:
    """0 to count - 1, each with its bits in the opposite order."""
    order = np.zeros(1, dtype=np.intp)
    while len(order) < count:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def _places(bodies: Sequence[Body]) -> Array:
    """Rotation and position of each joint on its parent."""
    return np.array([_place(body.placement) for body in bodies], dtype=np.float64)


def _place(at: Transform) -> list[float]:
    return [*(x for row in at.rotation.matrix() for x in row), *at.position]


def _inertias(bodies: Sequence[Body]) -> Mapping[str, Array]:
    """Constants of links, as `assembly_steps.free_link` takes them."""
    free = [FreeBody.of(body.inertia) for body in bodies]
    return {
        "com": np.array([[*one.com] for one in free]),
        "about": np.array([assembly_steps.upper(one.about_com) for one in free]),
        "inverse": np.array([assembly_steps.upper(one.inverse_about_com) for one in free]),
        "operator": np.array([assembly_steps.operator_entries(one.operator) for one in free]),
    }
