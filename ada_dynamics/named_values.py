# SPDX-License-Identifier: Apache-2.0
"""Values by name on a command line, as in --setting period=0.004 --setting url=dry: --fault drop=0.1."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from ada_dynamics.errors import InputError


def named_values(option: str, texts: Iterable[str], example: str = "NAME=0.1") -> dict[str, object]:
    """Values by name; each is read as JSON, and taken as text where it is none.

    Args:
        option: that they were given with, without its dashes.
        texts: NAME=VALUE each.
        example: of one.

    Raises:
        InputError: something without a name or sign, or a name that comes twice.
    """
    found: dict[str, object] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            words = f"--{option} {text!r}: write NAME=VALUE, such as --{option} {example}."
            raise InputError(words, field=option, value=text)
        if name in found:
            raise InputError(f"--{option} {name} is given twice; give it once.", field=name)
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def named_numbers(option: str, texts: Iterable[str], example: str = "NAME=0.1") -> dict[str, float]:
    """Numbers by name; arguments as of `named_values`.

    Raises:
        InputError: see `named_values`, or no finite number.
    """
    found = {}
    for name, value in named_values(option, texts, example).items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            text = f"--{option} {name}={value}: it must be a number, such as --{option} {example}."
            raise InputError(text, field=name, value=value)
        found[name] = float(value)
    return found
