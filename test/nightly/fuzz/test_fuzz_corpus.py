# SPDX-License-Identifier: Apache-2.0
"""Inputs that fuzzing found are read or refused by name, within bounds; so is what once broke something."""

import os
import socket
import subprocess

import pytest

from trials.fuzz import targets
from trials.fuzz.fence import Escaped, fence
from trials.fuzz.target import CORPUS, CRASHES, Trial, kept


@pytest.mark.parametrize("name", targets.names())
def test_inputs_that_fuzzing_found_are_taken_or_refused_by_name_within_bounds(name, tmp_path):
    target = targets.find(name)
    trial = Trial(target, tmp_path)
    taken = [trial(one) for one in target.seeds()]
    assert any(taken)
    for one in (*kept(CORPUS, name), *kept(CRASHES, name)):
        trial(one)


@pytest.mark.parametrize(
    "act",
    [
        lambda path: path.write_text("x"),
        lambda path: path.parent.joinpath("other").read_bytes(),
        lambda path: os.remove(path),  # noqa: PTH107
        lambda path: socket.socket(),
        lambda path: subprocess.run(["true"], check=False),
    ],
)
def test_the_fence_notices_what_an_input_must_not_do(tmp_path, act):
    with pytest.raises(Escaped), fence():
        act(tmp_path / "file")
