# SPDX-License-Identifier: Apache-2.0
"""What a run of a benchmark found, as a file that other programs can read."""

import json

import numpy as np

from benchmarks.report import Report


def test_figures_of_numpy_are_written_like_others() -> None:
    report = Report()
    report.begin("section", "title")
    report.table("table", ["what", "figure"], [["rest", np.float64(0.25)], ["unsafe", np.int64(0)], ["is", np.True_]])
    report.aim("time to rest", np.float64(0.25), 0.5, "s")
    written = json.loads(json.dumps(report.to_dict()))
    assert written["tables"][0]["rows"] == [["rest", 0.25], ["unsafe", 0], ["is", True]]
    assert written["targets"][0]["measured"] == 0.25
    assert written["targets"][0]["reached"] is True
