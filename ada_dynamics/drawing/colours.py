# SPDX-License-Identifier: Apache-2.0
"""Colours and line styles of curves, suitable for colour-blind readers and greyscale, and the style of figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Okabe and Ito, "Color Universal Design" (2008): distinguishable with every kind of colour blindness. Yellow is
# omitted, as thin yellow lines are invisible on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":")
INK = "#222222"
JOINT = INK
SOFT = "#666666"  # of remarks
MARK = "#999999"  # of times of events

STYLE: dict[str, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.linewidth": 0.7,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.useoffset": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "legend.fontsize": 8.0,
    "legend.frameon": True,
    "legend.framealpha": 0.8,
    "legend.edgecolor": "none",
    "legend.borderpad": 0.3,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.0,
    "legend.labelspacing": 0.25,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "svg.hashsalt": "ada_dynamics",  # reproducible files
    "agg.path.chunksize": 20_000,  # points of a curve that are drawn together, to limit the memory
}


def curve(i: int) -> dict[str, str]:
    """Colour and line style of the i-th curve of a panel; they repeat after 28."""
    return {"color": PALETTE[i % len(PALETTE)], "linestyle": DASHES[(i // len(PALETTE)) % len(DASHES)]}


CLOSED, OPEN = 1e-9, 1e-3  # closure error [m, rad] of a green and of a red loop
_GREEN, _RED = np.array([40.0, 170.0, 80.0]), np.array([215.0, 40.0, 40.0])


def closure_colour(gap: ArrayLike) -> NDArray[np.uint8]:
    """Green for a closed loop, red for an open one, interpolated by the logarithm of the closure error, (..., 3)."""
    share = (np.log10(np.maximum(gap, 1e-30)) - np.log10(CLOSED)) / (np.log10(OPEN) - np.log10(CLOSED))
    share = np.minimum(np.maximum(share, 0.0), 1.0)[..., np.newaxis]
    return np.asarray(np.rint((1.0 - share) * _GREEN + share * _RED), dtype=np.uint8)
