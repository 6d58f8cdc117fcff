# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows: models, logs, findings, films."""

from html.parser import HTMLParser

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.lint.report import Finding, Report

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


def html_of(thing):
    """What IPython asks of a result."""
    return getattr(thing, "_repr_html_")()  # noqa: B009


def seen(thing):
    return Seen(html_of(thing))


@pytest.fixture(scope="module")
def five_bar():
    return mechanisms.five_bar()


def test_a_model_shows_its_joints_its_loops_and_a_picture(five_bar):
    pytest.importorskip("matplotlib")
    model, _ = five_bar
    shown = seen(model)
    assert {*model.joints, *model.loops} <= {*shown.words}
    assert shown.words.count("motor") == len(model.actuated)
    assert "svg" in shown.tags


def test_an_assembled_pose_shows_its_report_and_what_is_computed_of_it_does_not(five_bar):
    model, _ = five_bar
    q = ada.assemble(model)
    words = seen(q).words
    assert set(q.report().splitlines()) <= set(words)
    assert html_of(q[:1]) is None
    assert type(2.0 * q) is np.ndarray


def test_findings_are_shown_in_words_that_html_does_not_take_for_tags():
    report = Report("arm.urdf", "arm", [Finding("odd", "warning", "link <a>", "its mass is <0.", "Give it one.", 7)])
    shown = seen(report)
    assert "link <a>" in shown.words and "its mass is <0. Give it one." in shown.words and "7" in shown.words
    assert "0 errors, 1 warning, 0 notes" in shown.words[1]


def test_the_robots_of_the_catalogue_are_listed_a_line_each():
    robots = ada.robots()
    assert "stewart" in robots and robots["pa10"] in repr(robots)
    assert len(repr(robots).splitlines()) == len(robots)
    assert {*robots} <= {*seen(robots).words}
    assert ada.robots.catalogue.CATALOGUE.keys() == robots.keys()  # the module is still one
