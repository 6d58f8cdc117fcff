# SPDX-License-Identifier: Apache-2.0
"""Tests of several folders share `mechanism_oracle`; pytest's "importlib" mode leaves the path alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
