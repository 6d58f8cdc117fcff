# SPDX-License-Identifier: Apache-2.0
"""Keeping a part of the log to itself for a while."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(logger: str, level: int = logging.CRITICAL) -> Iterator[None]:
    """Within it, a logger by that name says nothing below that level."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(level)
    try:
        yield
    finally:
        log.setLevel(before)
