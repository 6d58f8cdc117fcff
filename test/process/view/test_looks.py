# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows: models, logs, findings, films, and pages that go on while the program does."""

import importlib
import subprocess
import sys
import time
import urllib.request
from html.parser import HTMLParser

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics import shown
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.lint.report import Finding, Report
from ada_tools.browser import background

VOID = {"img", "br", "path", "use"}


class Seen(HTMLParser):
    """Text and tags of a page; tags that are left open are an error."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data.strip())


@pytest.fixture(scope="module")
def five_bar():
    return mechanisms.five_bar()


@pytest.fixture(scope="module")
def log(five_bar):
    return ada.Simulation(*five_bar).run(0.2)


def test_a_model_shows_its_joints_its_loops_and_a_picture(five_bar):
    pytest.importorskip("matplotlib")
    model, _ = five_bar
    seen = Seen(model._repr_html_())
    assert {*model.joints, *model.loops} <= {*seen.words}
    assert seen.words.count("motor") == len(model.actuated)
    assert "svg" in seen.tags


def test_a_model_of_many_joints_is_cut_and_counted():
    seen = Seen(ada.chain_3d(60)._repr_html_())
    assert "and 20 more" in seen.words


def test_without_matplotlib_the_table_stays(five_bar, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    seen = Seen(five_bar[0]._repr_html_())
    assert "table" in seen.tags and "svg" not in seen.tags


def test_an_assembled_pose_shows_its_report_and_what_is_computed_of_it_does_not(five_bar):
    model, _ = five_bar
    q = ada.assemble(model)
    words = Seen(q._repr_html_()).words
    assert set(q.report().splitlines()) <= set(words)
    assert q[:1]._repr_html_() is None
    assert type(2.0 * q) is np.ndarray


def test_a_log_shows_plots_and_events(log):
    pytest.importorskip("matplotlib")
    seen = Seen(log._repr_html_())
    assert f"{len(log)} rows" in " ".join(seen.words)
    assert "svg" in seen.tags or "img" in seen.tags
    assert Seen(log[:0]._repr_html_()).tags == ["div", "b"]


def test_findings_are_shown_in_words_that_html_does_not_take_for_tags():
    report = Report("arm.urdf", "arm", [Finding("odd", "warning", "link <a>", "its mass is <0.", "Give it one.", 7)])
    seen = Seen(report._repr_html_())
    assert "link <a>" in seen.words and "its mass is <0. Give it one." in seen.words and "7" in seen.words
    assert "0 errors, 1 warning, 0 notes" in seen.words[1]


def test_an_identification_shows_its_parameters():
    arm, rng = ada.Dynamics(ada.load("planar_3r")), np.random.default_rng(0)
    q, v, a = (rng.normal(size=(200, 3)) for _ in range(3))
    found = ada.identify(arm, q, v, a, arm.inverse(q, v, a))
    words = Seen(found._repr_html_()).words
    assert {row.name for row in found.parameters()[:5]} <= set(words)
    assert {row.name for row in found.combinations()[:5]} <= set(words)


def test_a_film_is_the_path_of_its_file_and_is_shown(log, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL")
    film = log.animate(tmp_path / "fall.gif", fps=10.0)
    assert (tmp_path / "fall.gif").samefile(film)
    assert film._repr_html_().startswith('<img src="data:image/gif;base64,R0lGOD')


def test_the_robots_of_the_catalogue_are_listed_a_line_each():
    robots = ada.robots()
    assert "stewart" in robots and robots["pa10"] in repr(robots)
    assert len(repr(robots).splitlines()) == len(robots)
    assert {*robots} <= {*Seen(robots._repr_html_()).words}
    assert ada.robots.catalogue.CATALOGUE.keys() == robots.keys()  # the module is still one


# --- pages ----------------------------------------------------------------------------------------------------------
def test_a_model_is_viewed_while_the_program_goes_on(five_bar):
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    with five_bar[0].view(port=0, open_browser=False) as page:
        assert urllib.request.urlopen(page.url, timeout=60).status == 200
        assert page.url in page._repr_html_() and page._repr_html_().startswith("<iframe")


def test_a_viewed_simulation_moves_until_its_page_is_closed(five_bar):
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    simulation = ada.Simulation(*five_bar)
    page = simulation.view(port=0, open_browser=False)
    until = time.monotonic() + 60.0
    while simulation.t < 0.05 and time.monotonic() < until:
        time.sleep(0.01)
    page.close()
    reached = simulation.t
    assert reached >= 0.05
    assert simulation.t == reached


def test_only_a_notebook_is_taken_for_one(monkeypatch):
    class Shell:
        kernel = None

    class IPython:
        get_ipython = staticmethod(Shell)

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    assert not background.is_notebook()
    monkeypatch.setattr(Shell, "kernel", object())
    assert background.is_notebook()


def test_without_the_tools_a_view_says_what_is_missing(five_bar, monkeypatch):
    monkeypatch.setattr(shown, "_PAGES", "ada_tools.no_such_page")
    with pytest.raises(ada.InputError, match="ada_tools"):
        five_bar[0].view()


# --- names ----------------------------------------------------------------------------------------------------------
def test_tab_offers_names_and_rooms_and_loads_none_of_them():
    code = (
        "import sys, ada_dynamics as ada; names = dir(ada); assert {'load', 'robots', 'simulation', 'ik'} <= {*names};"
        "assert 'ada_dynamics.simulation' not in sys.modules and 'numpy' not in sys.modules;"
        "assert ada.simulation.Simulation is ada.Simulation; print('ok')"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "ok"


def test_a_room_whose_framework_is_missing_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "ada_dynamics.gym", raising=False)
    monkeypatch.delattr(ada, "gym", raising=False)
    assert not hasattr(ada, "gym")
    with pytest.raises(AttributeError, match=r"ada_dynamics.gym cannot be imported: .*\[gym\]"):
        ada.gym  # noqa: B018
    with pytest.raises(ImportError, match=r"\[gym\]"):
        importlib.import_module("ada_dynamics.gym")


def test_a_name_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(AttributeError, match=r"no attribute 'lod'; it has .*load"):
        ada.lod  # noqa: B018
