# SPDX-License-Identifier: Apache-2.0
"""Arrays that do not fit a kernel are refused by name, without tracing or compiling anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jit_examples import square
from refused import refused

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.jit import Kernel, Signature

SIGNATURE = Signature("k", (("q", 2), ("v", 3)), (("a", (2, 2)), ("b", ())))


def test_a_trace_that_contradicts_the_signature_is_refused() -> None:
    kernel = Kernel(Signature("square", (("q", 7),), (("a", (7,)),)), square, "key")
    with pytest.raises(CompileError):
        kernel.single(np.zeros(7))


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 1)),
        np.zeros(()),
        np.zeros(3),
        np.zeros(2, dtype=np.float32),
        np.zeros(2, dtype=int),
        np.zeros(2, dtype=">f8"),
        [0.0, 0.0],
        None,
        np.zeros(4)[::2],
    ],
)
def test_arrays_of_a_state_that_do_not_fit_are_told(wrong: Any) -> None:
    good = np.zeros(2), np.zeros(3)
    assert SIGNATURE.check_single(good) is good
    with refused(InputError, field="q"):
        SIGNATURE.check_single((wrong, good[1]))
    with refused(InputError, value=1):
        SIGNATURE.check_single(good[:1])


@pytest.mark.parametrize(
    ("q", "v", "field"),
    [
        (np.zeros(2), np.zeros((4, 3)), "q"),
        (np.zeros((4, 2, 1)), np.zeros((4, 3)), "q"),
        (np.zeros((4, 2)), np.zeros((5, 3)), "v"),
        (np.zeros((4, 2)), np.zeros((4, 2)), "v"),
        (np.zeros((4, 2)), np.zeros(3), "v"),
        ("q", np.zeros((4, 3)), "q"),
        (np.zeros((4, 2), dtype=int), np.zeros((4, 3)), "q"),
    ],
)
def test_arrays_of_a_batch_that_do_not_fit_are_told(q: Any, v: Any, field: str) -> None:
    good = np.zeros((4, 2)), np.asfortranarray(np.zeros((4, 3)))
    assert SIGNATURE.check_batch(good) == (good, 4)
    with refused(InputError, field=field):
        SIGNATURE.check_batch((q, v))
    with refused(InputError, value=3):
        SIGNATURE.check_batch((*good, good[0]))
