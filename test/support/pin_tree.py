# SPDX-License-Identifier: Apache-2.0
"""pinocchio for tests: whoever imports this is skipped where it is not installed."""

import pytest

from ada_experiments.pinocchio_tree import LinkFrame
from ada_experiments.pinocchio_tree import PinocchioTree as PinTree

pin = pytest.importorskip("pinocchio")
if not hasattr(pin, "JointModelRevoluteUnaligned"):
    pytest.skip("the package named pinocchio is not the dynamics library", allow_module_level=True)

__all__ = ["LinkFrame", "PinTree", "pin"]
