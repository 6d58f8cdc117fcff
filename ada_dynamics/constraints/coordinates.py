# SPDX-License-Identifier: Apache-2.0
"""Sets of coordinates that determine the motion: independent ones, those of the actuators, or joints by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import NEAR_SINGULAR, RANK, SAMPLES, ConstraintAnalysis
from ada_dynamics.constraints.constraint_set import characteristic_length
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.constraints.tangent_map import (
    MapOrder,
    NullSpace,
    independent_velocities,
    least_seen,
    least_share,
    pivots_of,
    rank_of_some,
    sample_null_spaces,
    velocity_units,
)
from ada_dynamics.errors import InputError, SingularConfigurationError, WrongTypeError, unknown_name
from ada_dynamics.model.model import Model

_NAMED = 8  # largest number of joints in a message
TREE, INDEPENDENT, ACTUATED = "tree", "independent", "actuated"
Coordinates = str | Sequence[str]
_TAKES_PART = 0.1  # smallest relative velocity of the joints, or share of the loops, in a message


class CoordinateSets:
    """Sets of velocity coordinates that determine the motion of a model."""

    def __init__(self, model: Model, analysis: ConstraintAnalysis | None) -> None:
        """Args: the model; the analysis of its constraints, None without loops."""
        self.model, self.analysis = model, analysis
        self.length = characteristic_length(model) if analysis is None else analysis.constraints.length
        self.units = velocity_units(model, self.length)
        self.mobility = model.nv if analysis is None else analysis.mobility
        self._known: dict[str | tuple[str, ...], tuple[int, ...]] = {}

    @cached_property
    def motors(self) -> tuple[int, ...]:
        """Indices in v of the actuated coordinates, in the order of `model.actuated`."""
        return velocities_of(self.model, self.model.actuated)

    @cached_property
    def samples(self) -> list[Array]:
        """Orthonormal null-space bases of J in sample configurations."""
        if self.analysis is None:
            return [np.eye(self.model.nv)] * SAMPLES
        return sample_null_spaces(self.analysis, self.units)

    def indices(self, coordinates: Coordinates) -> tuple[int, ...]:
        """Indices of the coordinates in v, in the order of the columns of the tangent map.

        Raises:
            InputError: the coordinates are unknown, or do not determine the motion.
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
        """Elimination order of the dependent velocities; None without constraints."""
        analysis = self.analysis
        if analysis is None or not analysis.rank or not chosen:
            return None
        used = sorted(analysis.independent)
        w = analysis.constraints.weights[used]
        poses = [analysis.configurations[i] for i in self._determining(chosen)]
        samples = [analysis.constraints.jacobian(q)[used] / w[:, None] * self.units for q in poses]
        pivots, sizes = pivots_of(samples, chosen)
        typical = [float(size * w[i] / self.units[k]) for size, (i, k) in zip(sizes, pivots, strict=True)]
        return MapOrder(analysis.by_loop(analysis.independent), tuple(pivots), tuple(typical), chosen)

    def _determining(self, chosen: Sequence[int]) -> list[int]:
        """Samples that are not near a configuration in which the chosen velocities do not determine the motion."""
        shares = np.array([least_share(N, chosen) for N in self.samples])
        return np.flatnonzero(shares >= NEAR_SINGULAR * np.median(shares[shares > RANK])).tolist()

    def refuse_missing(self, chosen: Sequence[int], what: str) -> int:
        """Raise if velocities determine the motion in no configuration; return the number of surplus ones."""
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
                f"{self._count(chosen, what)}: {surplus} too many for {self.mobility}, which depend on the others "
                f"through the loops. Name joints with {self.mobility} velocities, or use coordinates={INDEPENDENT!r}.",
                field="coordinates",
                value=len(chosen),
                allowed=self.mobility,
            )

    def _count(self, chosen: Sequence[int], what: str) -> str:
        return (
            f"the {len(chosen)} velocities of the {what} of model {self.model.name!r} ({self._labels(chosen)}) do not "
            "determine its motion"
        )

    def refuse_singular(self, found: NullSpace, chosen: Sequence[int], state: int | None) -> None:
        """Raise if the chosen velocities do not determine the motion in one configuration.

        Args:
            found: null space of J in the configuration.
            chosen: indices of the velocities.
            state: index of the state in a batch; None for a single one.
        """
        where, field = ("", "q") if state is None else (f"state {state}: ", f"q[{state}]")
        if found.sigma < SINGULAR:
            raise SingularConfigurationError(
                f"{where}model {self.model.name!r} is in a singular configuration: the constraints of its loops "
                f"({self._weakest(found)}) lose rank, so that these coordinates do not determine its motion. Use a "
                "configuration nearby; `branch_directions` returns the tangents of the branches.",
                loop=self._weakest(found),
                field=field,
            )
        if least_share(found.basis(), chosen) < SINGULAR:
            raise SingularConfigurationError(
                f"{where}model {self.model.name!r} is in a configuration in which the velocities of "
                f"{self._labels(chosen)} do not determine its motion: with them at rest, "
                f"{self._names(least_seen(found.basis(), chosen))} can still move. Use a configuration nearby, or "
                "other coordinates=[names of joints].",
                joint=self._names(least_seen(found.basis(), chosen)),
                field=field,
            )

    def is_singular(self, found: NullSpace, chosen: Sequence[int]) -> Array:
        """True, by configuration, if the chosen velocities do not determine the motion."""
        return np.asarray((found.sigma < SINGULAR) | (least_share(found.basis(), chosen) < SINGULAR))

    def label(self, place: int) -> str:
        """Name of a velocity: the joint, with the component if the joint has several."""
        name = self.model.joint_of_velocity(place)
        own = self.model.v_index(name)
        return name if own.stop - own.start == 1 else f"{name}[{place - own.start}]"

    def _labels(self, places: Sequence[int]) -> str:
        return _listed([self.label(k) for k in places])

    def _names(self, motion: Array) -> str:
        least = _TAKES_PART * float(np.max(np.abs(motion)))
        moving = [n for n in self.model.joint_names if float(np.max(np.abs(motion[self.model.v_index(n)]))) > least]
        return _listed(moving)

    def _weakest(self, found: NullSpace) -> str:
        assert self.analysis is not None
        shares = zip(self.analysis.nontrivial, np.abs(found.weakest), strict=True)
        return ", ".join(sorted({self.analysis.constraints.rows[c][0] for c, share in shares if share > _TAKES_PART}))


def _listed(names: Sequence[str]) -> str:
    return (", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")) or "none"


def _not_names(coordinates: object) -> WrongTypeError:
    message = f"coordinates is {coordinates!r:.100}; it must be a name or a list of names of joints."
    return WrongTypeError(message, field="coordinates", value=coordinates, allowed=(INDEPENDENT, ACTUATED, list))


def velocities_of(model: Model, joints: Sequence[str]) -> tuple[int, ...]:
    """Indices in v of the velocities of joints, in their order; "joint[1]" is one component of a joint."""
    return tuple(k for name in joints for k in _places(model, name))


def _places(model: Model, name: str) -> range:
    whole, _, number = name.removesuffix("]").rpartition("[")
    if name not in model.joint_names and whole in model.joint_names and number.isdigit():
        own = model.v_index(whole)
        if own.start + int(number) < own.stop:
            return range(own.start + int(number), own.start + int(number) + 1)
    return range(model.v_index(name).start, model.v_index(name).stop)
