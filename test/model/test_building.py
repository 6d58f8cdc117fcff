# SPDX-License-Identifier: Apache-2.0
"""What is built large leaves Python as it was."""

import gc

import pytest

import ada_dynamics as ada
from ada_dynamics.errors import ModelError
from ada_dynamics.model import Builder


@pytest.mark.parametrize("is_on", [True, False])
def test_the_search_for_garbage_is_as_before_after_success_and_failure(is_on):
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        ada.Dynamics(ada.chain_3d(70)).forward(*[[0.0] * 70] * 3)
        assert gc.isenabled() == is_on
        with pytest.raises(ModelError, match="no links"):
            Builder("empty").build()
        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()
