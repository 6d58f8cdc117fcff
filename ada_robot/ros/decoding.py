# SPDX-License-Identifier: Apache-2.0
"""Deserialization of messages from untrusted senders; imports rclpy."""

from __future__ import annotations

from typing import Any

from rclpy.serialization import deserialize_message

from ada_dynamics.errors import InputError


def decoded(raw: bytes, kind: Any) -> Any:
    """Deserialize a message.

    Raises:
        InputError: if the bytes are no message of this type.
    """
    try:
        return deserialize_message(raw, kind)
    except RuntimeError as problem:  # RMWError or RCLError, which move between distributions
        reason = " ".join(str(problem).split())[:200]
        requested = f"{kind.__module__.partition('.')[0]}/{kind.__name__}"
        raise InputError(f"{len(raw)} bytes are no valid {requested}: {reason}.") from None
