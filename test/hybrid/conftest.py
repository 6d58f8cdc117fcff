# SPDX-License-Identifier: Apache-2.0
"""The tests here share `lanes_examples`."""

import sys
from pathlib import Path

# pytest's "importlib" mode leaves the path alone.
sys.path.insert(0, str(Path(__file__).parent))
