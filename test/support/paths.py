# SPDX-License-Identifier: Apache-2.0
"""Folders of the checkout."""

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parents[1]
