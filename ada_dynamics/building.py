# SPDX-License-Identifier: Apache-2.0
"""While something large is built of parts that all stay, Python need not search them for garbage again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def keeping_all() -> Iterator[None]:
    """No search for garbage meanwhile: with 100 000 links it would take as long as the rest. Also as a decorator."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
