# SPDX-License-Identifier: Apache-2.0
"""Tables of how a format says kinds of joints; one that forgets a kind fails at import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from ada_dynamics.model.joints import JOINT_TYPES

Word = TypeVar("Word")


class Refused(str):
    """In place of a word: the format lacks this kind of joint; what to do instead."""


class Kinds(Generic[Word]):
    """Words of a format for kinds of joints.

    Attributes:
        words: by kind, what the format calls it.
        instead: by kind that the format lacks, what to do instead.
    """

    def __init__(self, what: str, entries: Mapping[str, Word | Refused]) -> None:
        """Args: the table's name, for messages; a word, or a reason to refuse, for each kind."""
        missing, unknown = JOINT_TYPES.keys() - entries.keys(), entries.keys() - JOINT_TYPES.keys()
        if missing or unknown:
            raise TypeError(f"table of {what}: no entry for {sorted(missing)}, an entry for unknown {sorted(unknown)}.")
        self.words = {kind: word for kind, word in entries.items() if not isinstance(word, Refused)}
        self.instead = {kind: str(word) for kind, word in entries.items() if isinstance(word, Refused)}
