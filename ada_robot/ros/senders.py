# SPDX-License-Identifier: Apache-2.0
"""Received messages with the id of their publisher; imports rclpy.

DDS delivers the id of the publisher with each message. MessageInfo of rclpy (7.1, 9.1) omits it, so that the public C
function `rcl_take_serialized_message` is called instead. If that fails, messages are taken by rclpy without the id.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError
from ada_robot.ros.decoding import decoded

_MOST_BAD = 100  # maximum number of consecutive undecodable messages per call
GID = 16  # bytes that identify a publisher; distributions with 24 append zeros
_OK, _NOTHING = 0, 401  # RCL_RET_OK, RCL_RET_SUBSCRIPTION_TAKE_FAILED


class Taken(NamedTuple):
    """Received message.

    Attributes:
        message: message.
        sender: id of the publisher, the first bytes of endpoint_gid in `get_publishers_info_by_topic`; None if
            unknown.
    """

    message: Any
    sender: bytes | None


class _Allocator(ctypes.Structure):
    """rcutils_allocator_t."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero", "state"))


class _Bytes(ctypes.Structure):
    """rcutils_uint8_array_t, alias rcl_serialized_message_t."""

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    )


class _Info(ctypes.Structure):
    """rmw_message_info_t, with space for fields of other distributions."""

    _fields_ = (
        ("sent", ctypes.c_int64),
        ("received", ctypes.c_int64),
        ("publication", ctypes.c_uint64),
        ("reception", ctypes.c_uint64),
        ("implementation", ctypes.c_char_p),
        ("gid", ctypes.c_uint8 * GID),
        ("more", ctypes.c_uint8 * 128),
    )


class Taker:
    """Takes messages of one type; for one thread."""

    def __init__(self, kind: Any) -> None:
        """Args: message type."""
        self._kind, self._library = kind, _library()
        self._info = _Info()
        self._bytes: _Bytes | None = None
        if self._library is not None:
            self._bytes = _new_bytes()

    def take(self, handle: Any) -> Taken | None:
        """Take the oldest waiting message, or None.

        Args:
            handle: entered handle of the subscription.
        """
        pointer = getattr(handle, "pointer", None)
        if self._library is None or self._bytes is None or pointer is None:
            return _as_rclpy_does(handle, self._kind)
        for _ in range(_MOST_BAD):
            code = self._library.rcl_take_serialized_message(
                ctypes.c_void_p(pointer), ctypes.byref(self._bytes), ctypes.byref(self._info), None
            )
            if code == _NOTHING:
                return None
            if code != _OK:  # not supported by this middleware
                self._library.rcutils_reset_error()
                self.close()
                return _as_rclpy_does(handle, self._kind)
            with suppress(InputError):  # skip invalid messages, like rclpy
                message = decoded(ctypes.string_at(self._bytes.buffer, self._bytes.length), self._kind)
                return Taken(message, bytes(self._info.gid))
        return None

    def close(self) -> None:
        """Free the memory; messages taken afterwards have no sender."""
        if self._library is not None and self._bytes is not None:
            self._library.rcutils_uint8_array_fini(ctypes.byref(self._bytes))
        self._bytes = None


def _as_rclpy_does(handle: Any, kind: Any) -> Taken | None:
    taken = handle.take_message(kind, False)
    return None if taken is None else Taken(taken[0], None)


@cache
def _library() -> Any:
    """Load the C libraries used by rclpy; None if functions are missing."""
    with suppress(OSError, AttributeError):
        rcl, rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")
        return _Functions(rcl, rcutils)
    return None


class _Functions:
    """C functions.

    Raises:
        AttributeError: if one is missing.
    """

    def __init__(self, rcl: Any, rcutils: Any) -> None:
        self.rcl_take_serialized_message = rcl.rcl_take_serialized_message
        self.rcutils_reset_error = rcutils.rcutils_reset_error
        self.rcutils_uint8_array_fini = rcutils.rcutils_uint8_array_fini
        self.rcutils_uint8_array_init = rcutils.rcutils_uint8_array_init
        self.rcutils_get_default_allocator = rcutils.rcutils_get_default_allocator
        self.rcutils_get_default_allocator.restype = _Allocator
        self.rcutils_reset_error.restype = None


def _new_bytes() -> _Bytes | None:
    library, made = _library(), _Bytes()
    allocator = library.rcutils_get_default_allocator()
    code = library.rcutils_uint8_array_init(ctypes.byref(made), ctypes.c_size_t(1024), ctypes.byref(allocator))
    return made if code == _OK else None
