# SPDX-License-Identifier: Apache-2.0
"""Refusals by type and facts, and descriptions with one mistake each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import ada_dynamics as ada
from ada_dynamics.errors import AdaError


@contextmanager
def refused(kind: type[AdaError], **facts: Any) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error with these attributes: `with refused(ModelError, joint="elbow", field="limits"): ...`."""
    assert facts, "name a fact that tells the reason from others"
    with pytest.raises(kind) as caught:
        yield caught
    found = {name: getattr(caught.value, name) for name in facts}
    assert found == facts, str(caught.value)


def damaged(good: str, old: str, new: str) -> str:
    assert old in good
    return good.replace(old, new, 1)


def refusal(source: Any, *words: str, error: type[Exception] = ada.ModelError, **options: Any) -> str:
    """Message of the refusal by `load`, which has all these words."""
    with pytest.raises(error) as caught:
        ada.load(source, **options)
    message = str(caught.value)
    assert all(word in message for word in words), message
    return message
