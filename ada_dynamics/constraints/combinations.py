# SPDX-License-Identifier: Apache-2.0
"""Combinations of dependent conditions that are independent in a pose, and stay good while the mechanism moves on.

Which of a Bennett linkage's conditions are independent changes with the pose; no fixed choice serves a full turn. So
the combinations are chosen where the mechanism is, by singular values, and kept until they have lost too much of what
made them independent. A loop adds what the loops before it leave open; one that repeats nothing needs no combinations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ada_dynamics.arrays import Array

# Of det(J M⁻¹ Jᵀ) of fresh combinations, this much must be left: the error of a stage off the loops grows with the
# inverse of its root.
WORN_OUT = 0.1


class Combinations:
    """Which loops need combinations, and how many."""

    def __init__(self, rows: Mapping[str, Sequence[int]], counts: Mapping[str, int], units: Array) -> None:
        """Choose nothing yet.

        Args:
            rows: conditions that act, by loop.
            counts: how many independent ones each loop adds to those before.
            units: factors that make conditions in units of forces of their multiples, condition by condition.
        """
        self.units = units
        ends = np.cumsum([0, *(len(own) for own in rows.values())])
        self._blocks = [
            (slice(int(a), int(b)), counts[name]) for name, a, b in zip(rows, ends[:-1], ends[1:], strict=True)
        ]
        self.by_loop = {name: counts[name] for name, own in rows.items() if counts[name] < len(own)}

    def matrix(self, W: Array) -> Array:
        """Weights of all conditions in all combinations, row by row; conditions that stay as they are have a one.

        Args:
            W: L⁻¹ Jᵀ of the conditions in units of forces, one column each; a leading axis is a batch of poses.
        """
        n, m = W.shape[-2:]
        known = np.zeros((*W.shape[:-2], n, 0))
        total = np.zeros((*W.shape[:-2], sum(count for _, count in self._blocks), m))
        done = 0
        for block, count in self._blocks:
            own = W[..., block]
            left = own - known @ (known.swapaxes(-1, -2) @ own)
            U, s, Vt = np.linalg.svd(left, full_matrices=False)
            size = block.stop - block.start
            if count == size:
                total[..., done : done + count, block] = np.eye(size)
            else:
                strengths = np.maximum(s[..., :count, None], 1e-300) * self.units[block]
                total[..., done : done + count, block] = Vt[..., :count, :] / strengths
            known = np.concatenate([known, U[..., :count]], axis=-1)
            done += count
        return total

    def weights(self, matrix: Array) -> Array:
        """The weights in the order of a plan, without those of conditions that stay as they are."""
        parts, done = [np.zeros((*matrix.shape[:-2], 0))], 0
        for block, count in self._blocks:
            if count < block.stop - block.start:
                own = matrix[..., done : done + count, block]
                parts.append(own.reshape(*own.shape[:-2], -1))
            done += count
        return np.concatenate(parts, axis=-1)


def independent_counts(rows: Mapping[str, Sequence[int]], whitened: Sequence[Array], rank: int) -> dict[str, int]:
    """How many independent conditions each loop adds to those of the loops before it.

    Args:
        rows: conditions that act, by loop.
        whitened: W of these conditions in sample poses.
        rank: of all of them.
    """
    found = np.zeros(len(rows), dtype=int)
    for W in whitened:
        s = np.linalg.svd(W, compute_uv=False)
        dependent = s[rank] if rank < len(s) else 0.0
        smallest = np.sqrt(s[rank - 1] * max(dependent, 1e-9 * s[rank - 1])) if rank else 0.0
        ends = np.cumsum([0, *(len(own) for own in rows.values())])
        ranks = [int(np.sum(np.linalg.svd(W[:, :end], compute_uv=False) > smallest)) if end else 0 for end in ends]
        found = np.maximum(found, np.diff(ranks))
    # in some pose a loop can say less than usual, and a later one more: what is too much goes from the last ones
    surplus = int(found.sum()) - rank
    for i in range(len(found) - 1, -1, -1):
        taken = min(surplus, int(found[i]))
        found[i], surplus = found[i] - taken, surplus - taken
    return dict(zip(rows, found.tolist(), strict=True))
