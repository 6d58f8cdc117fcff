# SPDX-License-Identifier: Apache-2.0
"""Velocities that determine a motion: independent ones, those of the motors, or those of joints by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import NEAR_SINGULAR, POSES, RANK, Study
from ada_dynamics.constraints.constraint_set import typical_length
from ada_dynamics.constraints.map_order import MapOrder, pivots_of
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.constraints.tangent_map import (
    Motions,
    independent_velocities,
    least_seen,
    least_share,
    rank_of_some,
    sample_motions,
    velocity_units,
)
from ada_dynamics.errors import InputError, SingularConfigurationError, WrongTypeError, unknown_name
from ada_dynamics.model.model import Model

_NAMED = 8  # joints in a message
TREE, INDEPENDENT, ACTUATED = "tree", "independent", "actuated"
Coordinates = str | Sequence[str]
_TAKES_PART = 0.1  # of the largest velocity, or share, of those that a message names


class Choices:
    """Sets of velocities that determine the motion of one model."""

    def __init__(self, model: Model, study: Study | None) -> None:
        """Args: the model; findings about its loops, None where it has none."""
        self.model, self.study = model, study
        self.length = typical_length(model) if study is None else study.numbers.length
        self.units = velocity_units(model, self.length)
        self.mobility = model.nv if study is None else study.mobility
        self._known: dict[str | tuple[str, ...], tuple[int, ...]] = {}

    @cached_property
    def motors(self) -> tuple[int, ...]:
        """Places in v of the velocities of the joints that have motors, in the order of `model.actuated`."""
        return velocities_of(self.model, self.model.actuated)

    @cached_property
    def samples(self) -> list[Array]:
        """Orthonormal motions in sample poses."""
        return [np.eye(self.model.nv)] * POSES if self.study is None else sample_motions(self.study, self.units)

    def of(self, coordinates: Coordinates) -> tuple[int, ...]:
        """Places in v of the velocities meant, in the order of the columns.

        Raises:
            InputError: there is no such set, or it does not determine the motion.
        """
        if not isinstance(coordinates, (str, list, tuple)):
            raise _not_names(coordinates)
        key = coordinates if isinstance(coordinates, str) else tuple(coordinates)
        if key not in self._known:
            self._known[key] = self._found(key)
        return self._known[key]

    def _found(self, coordinates: str | tuple[str, ...]) -> tuple[int, ...]:
        if coordinates == INDEPENDENT:
            return independent_velocities(self.samples)
        if isinstance(coordinates, str) and coordinates != ACTUATED:
            raise unknown_name("set of velocities", coordinates, (INDEPENDENT, ACTUATED, "... or a list of joints"))
        if not all(isinstance(name, str) for name in coordinates):
            raise _not_names(coordinates)
        chosen = self.motors if coordinates == ACTUATED else velocities_of(self.model, coordinates)
        self._refuse_unfit(chosen, "motors" if coordinates == ACTUATED else "chosen joints")
        return chosen

    def map_order(self, chosen: tuple[int, ...]) -> MapOrder | None:
        """How to eliminate the other velocities; None where there is nothing to eliminate."""
        study = self.study
        if study is None or not study.rank or not chosen:
            return None
        used = sorted(study.used)
        w = study.numbers.weights[used]
        poses = [study.poses[i] for i in self._determining(chosen)]
        samples = [study.numbers.jacobian(q)[used] / w[:, None] * self.units for q in poses]
        pivots, sizes = pivots_of(samples, chosen)
        typical = [float(size * w[i] / self.units[k]) for size, (i, k) in zip(sizes, pivots, strict=True)]
        return MapOrder(study.rows(study.used), tuple(pivots), tuple(typical), chosen)

    def _determining(self, chosen: Sequence[int]) -> list[int]:
        """Sample poses that are not near one in which some velocities do not determine the motion."""
        shares = np.array([least_share(N, chosen) for N in self.samples])
        return np.flatnonzero(shares >= NEAR_SINGULAR * np.median(shares[shares > RANK])).tolist()

    def refuse_missing(self, chosen: Sequence[int], what: str) -> int:
        """Raise where velocities do not determine the motion in any pose; else, how many are more than it takes."""
        rank = rank_of_some(self.samples, chosen)
        if rank < self.mobility:
            motion = least_seen(self.samples[0], chosen)
            surplus = f", and {len(chosen) - rank} too many, following from the others" if len(chosen) > rank else ""
            raise InputError(
                f"{self._count(chosen, what)}: {self.mobility - rank} missing of {self.mobility}{surplus}. With them "
                f"at rest, {self._names(motion)} can still move; name one of these joints as well.",
                joint=self._names(motion),
                field="coordinates",
                value=len(chosen),
                allowed=self.mobility,
            )
        return len(chosen) - rank

    def _refuse_unfit(self, chosen: Sequence[int], what: str) -> None:
        surplus = self.refuse_missing(chosen, what)
        if surplus:
            raise InputError(
                f"{self._count(chosen, what)}: {surplus} too many for {self.mobility}, following from the others "
                f"along the loops. Name joints with {self.mobility} velocities, or use coordinates={INDEPENDENT!r}.",
                field="coordinates",
                value=len(chosen),
                allowed=self.mobility,
            )

    def _count(self, chosen: Sequence[int], what: str) -> str:
        return (
            f"the {len(chosen)} velocities of the {what} of model {self.model.name!r} ({self._labels(chosen)}) do not "
            "determine its motion"
        )

    def refuse_singular(self, found: Motions, chosen: Sequence[int], state: int | None) -> None:
        """Raise where velocities do not determine the motion in one pose.

        Args:
            found: what the conditions leave there.
            chosen: places of the velocities.
            state: its number in a batch; None for a single one.
        """
        where, field = ("", "q") if state is None else (f"state {state}: ", f"q[{state}]")
        if found.sigma < SINGULAR:
            raise SingularConfigurationError(
                f"{where}model {self.model.name!r} is in a singular pose: its loops ({self._weakest(found)}) hold "
                "fewer velocities than elsewhere, so that its motion is not determined by as many. Take a pose beside "
                "it; the branches are told by `tangents`.",
                loop=self._weakest(found),
                field=field,
            )
        if least_share(found.basis(), chosen) < SINGULAR:
            raise SingularConfigurationError(
                f"{where}model {self.model.name!r} is in a pose in which the velocities of "
                f"{self._labels(chosen)} do not determine its motion: with them at rest, "
                f"{self._names(least_seen(found.basis(), chosen))} can still move. Take a pose beside it, or other "
                "velocities: coordinates=[names of joints].",
                joint=self._names(least_seen(found.basis(), chosen)),
                field=field,
            )

    def is_singular(self, found: Motions, chosen: Sequence[int]) -> Array:
        """True, pose by pose, where they do not determine the motion."""
        return np.asarray((found.sigma < SINGULAR) | (least_share(found.basis(), chosen) < SINGULAR))

    def label(self, place: int) -> str:
        """A velocity in words: the joint's name, and the component where it has several."""
        name = self.model.joint_of_velocity(place)
        own = self.model.v_index(name)
        return name if own.stop - own.start == 1 else f"{name}[{place - own.start}]"

    def _labels(self, places: Sequence[int]) -> str:
        return _listed([self.label(k) for k in places])

    def _names(self, motion: Array) -> str:
        least = _TAKES_PART * float(np.max(np.abs(motion)))
        moving = [n for n in self.model.joint_names if float(np.max(np.abs(motion[self.model.v_index(n)]))) > least]
        return _listed(moving)

    def _weakest(self, found: Motions) -> str:
        assert self.study is not None
        conditions = sorted((*self.study.used, *self.study.spare))
        shares = zip(conditions, np.abs(found.weakest), strict=True)
        return ", ".join(sorted({self.study.numbers.conditions[c][0] for c, share in shares if share > _TAKES_PART}))


def _listed(names: Sequence[str]) -> str:
    return (", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")) or "none"


def _not_names(coordinates: object) -> WrongTypeError:
    message = f"coordinates is {coordinates!r:.100}; it must be a name or a list of names of joints."
    return WrongTypeError(message, field="coordinates", value=coordinates, allowed=(INDEPENDENT, ACTUATED, list))


def velocities_of(model: Model, joints: Sequence[str]) -> tuple[int, ...]:
    """Places in v of the velocities of joints, in their order; "joint[1]" is one of a joint that has several."""
    return tuple(k for name in joints for k in _places(model, name))


def _places(model: Model, name: str) -> range:
    whole, _, number = name.removesuffix("]").rpartition("[")
    if name not in model.joint_names and whole in model.joint_names and number.isdigit():
        own = model.v_index(whole)
        if own.start + int(number) < own.stop:
            return range(own.start + int(number), own.start + int(number) + 1)
    return range(model.v_index(name).start, model.v_index(name).stop)
