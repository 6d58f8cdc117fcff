# SPDX-License-Identifier: Apache-2.0
"""The campaign of faults: a quick part of it, and that it fails where a case does not end as it must."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trials import faults

pytest.importorskip("mcap")


def test_a_recording_that_is_killed_or_fills_the_disk_loses_its_open_chunk_alone(tmp_path: Path) -> None:
    for name in ("recording program killed", "disk full while recording"):
        (case,) = (one for one in faults.CASES if one.name == name)
        outcome = case.run(1)
        assert outcome.state == "readable" and not outcome.problems


@pytest.mark.parametrize(
    "outcome",
    [faults.Outcome("active", 0.1, []), faults.Outcome("stopped", 0.6, []), faults.Outcome("stopped", 0.1, ["moved"])],
)
def test_a_wrong_state_a_late_one_and_an_unsafe_one_fail_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: faults.Outcome
) -> None:
    good = faults.Case("good", ("stopped",), 0.5, lambda seed: faults.Outcome("stopped", 0.1, []))
    monkeypatch.setattr(faults, "CASES", (good,))
    assert faults.main([]) == 0
    monkeypatch.setattr(faults, "CASES", (good, good._replace(name="bad", run=lambda seed: outcome)))
    assert faults.main(["--json", str(tmp_path / "lines")]) == 1
    rows = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert [row["holds"] for row in rows] == [True, False]
