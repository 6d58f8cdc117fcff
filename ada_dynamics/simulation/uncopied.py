# SPDX-License-Identifier: Apache-2.0
"""What compiled code works on where it lies, so that a copy would share it or point nowhere."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from ada_dynamics.errors import InputError


class Uncopied:
    """Neither copied nor pickled."""

    _instead: ClassVar[str]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse, and say what to do instead."""
        raise InputError(
            f"a {type(self).__name__} cannot be copied or pickled: compiled code works on its state where it lies. "
            f"Instead, {self._instead}."
        )
