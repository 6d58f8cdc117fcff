# SPDX-License-Identifier: Apache-2.0
"""Array type of the library."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Array of double-precision floats, of any shape."""
