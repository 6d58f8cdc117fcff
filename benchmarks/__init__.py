# SPDX-License-Identifier: Apache-2.0
"""How fast the library is, as ratios against other engines in the same process: `python -m benchmarks --help`."""
