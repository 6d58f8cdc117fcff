# SPDX-License-Identifier: Apache-2.0
"""Independent combinations of dependent constraints, for overconstrained linkages.

The independent constraints of a Bennett linkage change with the configuration; no fixed set serves a full turn. The
combinations are computed by singular values in the current configuration and reused until they are ill-conditioned.
Each loop adds the constraints that are independent of the loops before it; only loops with redundant constraints need
combinations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ada_dynamics.arrays import Array

# Smallest det(J M⁻¹ Jᵀ) relative to that of new combinations: the error of a stage that violates the constraints grows
# with the inverse of its square root.
LEAST_DETERMINANT = 0.1


class ConstraintCombinations:
    """Number and layout of the combinations of each loop."""

    def __init__(self, rows: Mapping[str, Sequence[int]], counts: Mapping[str, int], units: Array) -> None:
        """Args.

        Args:
            rows: non-trivial constraints by loop.
            counts: number of independent constraints that each loop adds to the loops before it.
            units: weights of the constraints.
        """
        self.units = units
        ends = np.cumsum([0, *(len(own) for own in rows.values())])
        self._blocks = [
            (slice(int(a), int(b)), counts[name]) for name, a, b in zip(rows, ends[:-1], ends[1:], strict=True)
        ]
        self.by_loop = {name: counts[name] for name, own in rows.items() if counts[name] < len(own)}

    def matrix(self, W: Array) -> Array:
        """Weights of all constraints in all combinations, (combinations, m); unit rows for loops without redundancy.

        Args:
            W: L⁻¹ Jᵀ of the weighted constraints, one column each; a leading axis is a batch of configurations.
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
        """The weights in the order of a plan, without those of loops that need no combinations."""
        parts, done = [np.zeros((*matrix.shape[:-2], 0))], 0
        for block, count in self._blocks:
            if count < block.stop - block.start:
                own = matrix[..., done : done + count, block]
                parts.append(own.reshape(*own.shape[:-2], -1))
            done += count
        return np.concatenate(parts, axis=-1)


def independent_counts(rows: Mapping[str, Sequence[int]], whitened: Sequence[Array], rank: int) -> dict[str, int]:
    """Number of independent constraints that each loop adds to the loops before it.

    Args:
        rows: non-trivial constraints by loop.
        whitened: W of these constraints in sample configurations.
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
    # a loop may have a lower rank in one sample and a later loop a higher one: the surplus is taken from the last loops
    surplus = int(found.sum()) - rank
    for i in range(len(found) - 1, -1, -1):
        taken = min(surplus, int(found[i]))
        found[i], surplus = found[i] - taken, surplus - taken
    return dict(zip(rows, found.tolist(), strict=True))
