# SPDX-License-Identifier: Apache-2.0
"""Speed of the library as ratios against other engines in the same process: `python -m benchmarks --help`."""
