# SPDX-License-Identifier: Apache-2.0
"""Refusals by type and facts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ada_dynamics.errors import AdaError


@contextmanager
def refused(kind: type[AdaError], **facts: Any) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error with these attributes: `with refused(ModelError, joint="elbow", field="limits"): ...`."""
    assert facts, "name a fact that tells the reason from others"
    with pytest.raises(kind) as caught:
        yield caught
    found = {name: getattr(caught.value, name) for name in facts}
    assert found == facts, str(caught.value)
