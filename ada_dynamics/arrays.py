# SPDX-License-Identifier: Apache-2.0
"""The array that almost everything here takes and gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Floats of double precision, of any shape."""
