# SPDX-License-Identifier: Apache-2.0
"""The sentences of errors that users of Dynamics meet most often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada

Z = np.zeros(7)
Ask = Callable[[ada.Dynamics], Any]
SENTENCES: list[tuple[str, Ask, str]] = [
    ("pa10", lambda d: d.forward(Z[:6], Z, Z), r"^q has shape \(6,\); model 'pa10' needs \(7,\),"),
    ("pa10", lambda d: d.forward(["0"] * 7, Z, Z), "^q holds values of type <U1; model 'pa10' needs 7 real numbers"),
    ("pa10", lambda d: d.forward(Z, [0] * 6 + [[1, 2]], Z), "^v is ragged; model 'pa10' needs 7 numbers"),
    ("pa10", lambda d: d.forward(Z, Z + np.inf, Z), r"^v\[0\] is inf \(joint 's1'\); finite .* \(7 such values\)$"),
    ("pa10", lambda d: d.gravity([Z, Z * np.nan]), r"^q\[0\] of state 1 is nan \(joint 's1'\)"),
    ("pa10", lambda d: d.gravity(Z + 1e10), r"^q\[0\] is 1e\+10 \(joint 's1'\); angles beyond 1.6e\+09 rad"),
    ("pa10", lambda d: d.forward([Z] * 3, [Z] * 2, Z), r"different numbers of states \(q: 3, v: 2\)"),
    ("pa10", lambda d: d.pose("flang", Z), "no link is named 'flang'. Did you mean 'flange'"),
    ("pa10", lambda d: d.pose(Z, "flange"), "must be the name of a link, and comes before the positions"),
    ("four_bar", lambda d: ada.Dynamics(d.model, "lanes"), "has loops, which algorithm 'lanes' cannot close;"),
    ("four_bar", lambda d: d.jacobian("link_2", ada.close_loops(d.model), coordinates=[]), "1 missing of 1"),
    ("four_bar", lambda d: d.inverse_vjp(Z[:3], Z[:3], Z[:3], Z[:3]), "open the loops: edit.open_loops"),
]


@pytest.mark.parametrize(("robot", "ask", "words"), SENTENCES)
def test_errors_say_what_is_wrong_where_and_what_is_allowed(robot: str, ask: Ask, words: str) -> None:
    with pytest.raises(ada.InputError, match=words):
        ask(ada.Dynamics(ada.load(robot)))
