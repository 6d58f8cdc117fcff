# SPDX-License-Identifier: Apache-2.0
"""Whether repeated calls leak memory or references."""

import gc
import sys
import tracemalloc


def memory_taken(run, times):
    tracemalloc.start()
    run(10)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    run(times)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before


def assert_leaks_nothing(run, times=2000, objects=()):
    """Neither memory nor references to objects, over many times."""
    gc.collect()  # what other tests left
    run(10)
    counts = [sys.getrefcount(x) for x in objects]
    grown = min(memory_taken(run, times) for _ in range(3))  # another thread's memory comes once, a leak each time
    assert [sys.getrefcount(x) for x in objects] == counts
    assert grown < 20 * times  # a float has 24 bytes
