# SPDX-License-Identifier: Apache-2.0
"""Version, in a separate file that setup.py reads without importing the dependencies."""

__version__ = "0.2.0"
