# SPDX-License-Identifier: Apache-2.0
"""The server of a page: its threads and ports, the commands that serve one, and who may come to it."""

import socket
import threading
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import browser_robots
import pytest
import waiting

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms
from ada_dynamics.simulation.log import Log
from ada_tools import cli
from ada_tools.browser.access_control import VARIABLE, AccessControl, is_loopback
from ada_tools.browser.live import live
from ada_tools.browser.page import Page, serve
from ada_tools.browser.playback import play
from ada_tools.browser.pose_page import pose

viser = pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

GIVEN = "a-token_of-24-characters"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def asked(port, path="/", **headers):
    """Status, text and headers of an answer; the cookies of earlier ones are forgotten."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=20) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read(), refused.headers


def spoken(port, path="/", **headers):
    """First bytes that a websocket is sent, or the status that it is refused with."""
    options = {"subprotocols": [f"viser-v{viser.__version__}"], "max_size": None, "open_timeout": 20}
    origin = headers.pop("Origin", None)
    try:
        with connect(f"ws://127.0.0.1:{port}{path}", origin=origin, additional_headers=headers, **options) as line:
            return line.recv(20)
    except InvalidStatus as refused:
        return refused.response.status_code


@pytest.fixture(scope="module")
def open_page():
    with Page("test", host="0.0.0.0", port=0) as shown:
        yield shown


@pytest.fixture(scope="module")
def own_page():
    with Page("test", port=0) as shown:
        yield shown


def test_a_page_for_other_machines_answers_nobody_without_its_token(open_page):
    port = open_page.port
    token = open_page.access.token
    for path in ("/", "/index.html", "/?token=", f"/?token={token[:-1]}", f"/?token={token}x", f"/?t={token}"):
        status, text, _ = asked(port, path)
        assert (status, b"token missing or wrong" in text, len(text) < 200) == (403, True, True), path
        assert spoken(port, path) == 403, path
    assert spoken(port, Cookie="ada_view=guess; ada_=x; é") == 403
    assert not open_page.server.get_clients()


def test_the_printed_address_brings_the_token_and_the_cookie_goes_on_with_it(open_page, capsys):
    open_page.invite(opens_browser=False)
    url = capsys.readouterr().out.split()[1]
    assert url == open_page.url and len(open_page.access.token) >= 32
    status, text, headers = asked(open_page.port, f"/?{urlsplit(url).query}")
    assert (status, text, headers["Location"]) == (303, b"", "/")
    cookie, *flags = headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Lax"} <= set(flags)
    status, text, _ = asked(open_page.port, "/", Cookie=f"other=1; {cookie}")
    assert (status, b"<html" in text) == (200, True)
    assert isinstance(spoken(open_page.port, Cookie=cookie), bytes)
    assert isinstance(spoken(open_page.port, f"/?{urlsplit(url).query}"), bytes)


def test_each_page_has_a_token_and_a_cookie_of_its_own(open_page):
    with Page("test", host="0.0.0.0", port=0) as other:
        cookie = asked(other.port, f"/?token={other.access.token}")[2]["Set-Cookie"].partition(";")[0]
        assert asked(other.port, "/", Cookie=cookie)[0] == 200
        assert asked(open_page.port, "/", Cookie=cookie)[0] == 403
        assert asked(open_page.port, f"/?token={other.access.token}")[0] == 403


def test_the_token_of_the_environment_holds_on_this_machine_too_and_is_not_printed(monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, GIVEN)
    with serve("test", lambda page: None, port=0, open_browser=False, is_background=True) as page:
        assert GIVEN not in capsys.readouterr().out + repr(page)
        port = urlsplit(page.url).port
        assert asked(port)[0] == 403
        assert asked(port, f"/?token={GIVEN}")[0] == 303


@pytest.mark.parametrize("token", ["short", "a token with spaces in it", "x" * 129, "semicolons;are;no;letters"])
def test_a_token_that_is_none_is_refused(token, monkeypatch):
    monkeypatch.setenv(VARIABLE, token)
    with pytest.raises(ada.InputError):
        Page("test", port=0)


def test_on_this_machine_no_token_is_needed_but_another_sites_name_or_program_is_refused(own_page):
    port = own_page.port
    assert own_page.url == own_page.shown_url == f"http://127.0.0.1:{port}"
    assert asked(port)[0] == 200 and isinstance(spoken(port, Origin=f"http://127.0.0.1:{port}"), bytes)
    # A name that somebody else has made an address of this machine: DNS rebinding.
    for host in (f"evil.example:{port}", "evil.example", "127.0.0.1.evil.example", "[broken"):
        assert asked(port, Host=host)[0] == 403, host
    # A page from elsewhere in a browser of this machine.
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{port + 1}", "http://["):
        assert spoken(port, Origin=origin) == 403, origin
        assert asked(port, Origin=origin)[0] == 403, origin
    # What a tunnel (ssh -L 9000:...) makes of it.
    assert asked(port, Host="localhost:9000", Origin="http://localhost:9000")[0] == 200


def test_with_its_token_a_page_takes_any_name_but_no_other_sites_program(open_page):
    query = f"/?token={open_page.access.token}"
    assert asked(open_page.port, query, Host="robot.example")[0] == 303
    assert spoken(open_page.port, query, Origin="http://evil.example") == 403


@pytest.mark.parametrize(
    ("host", "alone"), [("127.0.0.2", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("", False)]
)
def test_which_addresses_this_machine_alone_reaches(host, alone):
    assert is_loopback(host) is alone
    assert bool(AccessControl(host).token) is not alone


def test_a_page_whose_door_was_passed_by_is_closed_again(monkeypatch):
    import websockets.asyncio.server as websockets

    serve, started = websockets.serve, []

    class PassingBy(viser.ViserServer):
        def __init__(self, **options):
            websockets.serve = serve  # as before the access check was installed
            super().__init__(**options)
            started.append(self.get_port())
            socket.create_connection(("127.0.0.1", started[0]), timeout=20).close()

    monkeypatch.setattr("viser.ViserServer", PassingBy)
    with pytest.raises(ada.InputError):
        Page("test", host="0.0.0.0", port=0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", started[0]), timeout=20)


def test_a_page_listens_on_this_machine_alone_and_its_threads_end_with_it():
    before = set(threading.enumerate())
    with Page("test", port=0) as page:
        status, text, _ = asked(page.port)
        assert (status, b"<html" in text) == (200, True)
        with socket.socket() as other, pytest.raises(OSError):
            other.connect(("127.0.0.2", page.port))  # another address of this machine
    waiting.until(lambda: not set(threading.enumerate()) - before, "the threads of the page end")


@pytest.fixture
def taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        yield other.getsockname()[1]


def test_instead_of_a_port_in_use_the_next_free_one_is_taken_and_said(taken, capsys):
    with Page("test", port=taken) as page:
        assert page.port not in (0, taken)
        page.invite(opens_browser=False)
    assert f"port {taken} is in use" in capsys.readouterr().out


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70000), ("203.0.113.7", 0), ("no such host!", 0)])
def test_an_address_that_cannot_be_is_refused(host, port):
    with pytest.raises(ada.InputError):
        Page("test", host=host, port=port)


def test_all_views_end_by_themselves_and_greet_with_one_line(capsys):
    pendulum, options = browser_robots.pendulum(), {"port": 0, "open_browser": False, "duration": 0.2}
    pose(pendulum, **options)
    play(Log(pendulum, [0.0, 0.1], [[0.1], [0.2]], [[1.0], [1.0]]), **options)
    live(ada.Simulation(pendulum, step=2e-3, pushable=True), **options)
    for command in ("sim pa10 --view --no-open", "demo --no-browser", "view four_bar --no-open"):
        assert cli.main([*command.split(), "--duration", "0.2", "--port", "0"]) == 0
    out, err = capsys.readouterr()
    assert (out.count("view: http://127.0.0.1:"), err) == (6, "")


def test_ctrl_c_ends_a_view_cleanly():
    def interrupt(shown):
        def raising():
            raise KeyboardInterrupt

        shown.page.note("interrupt", raising)

    pose(browser_robots.pendulum(), port=0, open_browser=False, on_start=interrupt)


def test_ada_view_shows_recordings_and_refuses_what_it_cannot_use(tmp_path, capsys):
    path = str(ada.Simulation(browser_robots.pendulum()).run(0.1).save(tmp_path / "swing.mcap"))
    options = ["--no-open", "--port", "0", "--duration", "0.1"]
    assert cli.main(["view", path, *options]) == 0
    assert capsys.readouterr().out.startswith("view: http://127.0.0.1:")
    for what, *wrong in ((path, "--base", "floating"), ("pa10", "--start", "1"), ("no.mcap",)):
        assert cli.main(["view", what, *options, *wrong]) == 2


def test_a_simulation_is_viewed_while_the_program_goes_on_until_its_page_is_closed():
    simulation = ada.Simulation(*mechanisms.five_bar())
    page = simulation.view(port=0, open_browser=False)
    assert asked(urlsplit(page.url).port)[0] == 200
    waiting.until(lambda: simulation.t >= 0.05, "it moves")
    page.close()
    reached = simulation.t
    assert page.url in getattr(page, "_repr_html_")() and simulation.t == reached  # noqa: B009
