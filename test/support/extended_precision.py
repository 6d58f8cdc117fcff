# SPDX-License-Identifier: Apache-2.0
"""Linear algebra in extended precision, which numpy.linalg has not: Cholesky factors and singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # of longdouble


def cholesky(M: Array) -> Array:
    """L with L Lᵀ = M."""
    A, n = M.copy(), len(M)
    for k in range(n):
        if A[k, k] <= 0:
            raise AssertionError(f"the mass matrix is not positive definite: pivot {k} is {A[k, k]}")
        A[k, k] = np.sqrt(A[k, k])
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k + 1 :, k])
    return np.tril(A)


def forward_substitution(L: Array, B: Array) -> Array:
    """L⁻¹ B."""
    X = B.copy()
    for k in range(len(L)):
        X[k] = (X[k] - L[k, :k] @ X[:k]) / L[k, k]
    return X


def back_substitution(L: Array, b: Array) -> Array:
    """L⁻ᵀ b."""
    x = b.copy()
    for k in reversed(range(len(L))):
        x[k] = (x[k] - L[k + 1 :, k] @ x[k + 1 :]) / L[k, k]
    return x


def jacobi_svd(W: Array) -> tuple[Array, Array, Array]:
    """W = U diag(s) Vᵀ by one-sided Jacobi rotations; columns of U that belong to s = 0 are zero."""
    A, m = W.copy(), W.shape[1]
    V = np.eye(m, dtype=W.dtype)
    eps = np.finfo(W.dtype).eps
    nothing = (eps * np.max(np.sqrt(np.sum(A * A, axis=0)), initial=0)) ** 2  # noise has no directions to make square
    for _ in range(40):
        rotated = False
        for i in range(m - 1):
            for j in range(i + 1, m):
                a, b, c = A[:, i] @ A[:, i], A[:, j] @ A[:, j], A[:, i] @ A[:, j]
                if abs(c) <= 8 * eps * np.sqrt(a * b) or min(a, b) <= nothing:
                    continue
                rotated = True
                zeta = (b - a) / (2 * c)
                t = (1 if zeta >= 0 else -1) / (abs(zeta) + np.sqrt(1 + zeta * zeta))
                cosine = 1 / np.sqrt(1 + t * t)
                turn = np.array([[cosine, cosine * t], [-cosine * t, cosine]], dtype=W.dtype)
                A[:, [i, j]] = A[:, [i, j]] @ turn
                V[:, [i, j]] = V[:, [i, j]] @ turn
        if not rotated:
            break
    else:
        raise AssertionError("the singular values did not converge")
    sizes = np.sqrt(np.sum(A * A, axis=0))
    return A / np.where(sizes > 0, sizes, 1), sizes, V
