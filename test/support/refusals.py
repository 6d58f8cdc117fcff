# SPDX-License-Identifier: Apache-2.0
"""Descriptions with one mistake each, and what `load` says of them."""

import pytest

import ada_dynamics as ada


def damaged(good, old, new):
    """A sound text with one mistake in it."""
    assert old in good
    return good.replace(old, new, 1)


def refusal(source, *said, error=ada.ModelError, **options):
    """Message of the refusal, which has all these words; options of `load`."""
    with pytest.raises(error) as caught:
        ada.load(source, **options)
    message = str(caught.value)
    for words in said:
        assert words in message
    return message
