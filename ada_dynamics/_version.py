# SPDX-License-Identifier: Apache-2.0
"""The version, in a file of its own: setup.py reads it without importing the package's dependencies."""

__version__ = "0.1.0"
