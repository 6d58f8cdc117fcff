# SPDX-License-Identifier: Apache-2.0
"""Who may come to a page: real requests and websockets, with and without its token, from here and from elsewhere."""

import socket
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest

import ada_dynamics as ada
from ada_tools.browser.background import BackgroundPage
from ada_tools.browser.door import VARIABLE, Door, is_loopback
from ada_tools.browser.page import Page

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
    token = open_page.door.token
    for path in (
        "/",
        "/index.html",
        "/nothing",
        "/?token=",
        f"/?token={token[:-1]}",
        f"/?token={token}x",
        f"/?t={token}",
    ):
        status, text, _ = asked(port, path)
        assert (status, b"needs its token" in text, len(text) < 200) == (403, True, True), path
        assert spoken(port, path) == 403, path
    assert spoken(port, Cookie="ada_view=guess; ada_=x; é") == 403
    assert not open_page.server.get_clients()


def test_the_printed_address_brings_the_token_and_the_cookie_goes_on_with_it(open_page, capsys):
    open_page.invite(opens_browser=False)
    url = capsys.readouterr().out.split()[1]
    assert url == open_page.url and len(open_page.door.token) >= 32
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
        cookie = asked(other.port, f"/?token={other.door.token}")[2]["Set-Cookie"].partition(";")[0]
        assert asked(other.port, "/", Cookie=cookie)[0] == 200
        assert asked(open_page.port, "/", Cookie=cookie)[0] == 403
        assert asked(open_page.port, f"/?token={other.door.token}")[0] == 403


def test_the_token_of_the_environment_holds_on_this_machine_too_and_is_not_printed(monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, GIVEN)
    with BackgroundPage("test", lambda page: None, port=0, open_browser=False) as page:
        assert GIVEN not in capsys.readouterr().out + repr(page)
        port = urlsplit(page.url).port
        assert asked(port)[0] == 403
        assert asked(port, f"/?token={GIVEN}")[0] == 303
        assert page._repr_html_() == f'<a href="{page.url}" target="_blank">the page</a>'


@pytest.mark.parametrize("token", ["short", "a token with spaces in it", "x" * 129, "semicolons;are;no;letters"])
def test_a_token_that_is_none_is_refused_by_name(token, monkeypatch):
    monkeypatch.setenv(VARIABLE, token)
    with pytest.raises(ada.InputError, match=r"ADA_VIEW_TOKEN: a token has 16 to 128 letters"):
        Page("test", port=0)


def test_on_this_machine_no_token_is_needed_but_another_sites_name_or_program_is_refused(own_page):
    port = own_page.port
    assert own_page.url == own_page.shown_url == f"http://127.0.0.1:{port}"
    assert asked(port)[0] == 200 and isinstance(spoken(port, Origin=f"http://127.0.0.1:{port}"), bytes)
    # A name that somebody else has made an address of this machine: DNS rebinding.
    for host in (f"evil.example:{port}", "evil.example", "127.0.0.1.evil.example", "[broken"):
        assert asked(port, Host=host)[0] == 403, host
    # A page from elsewhere in a browser of this machine.
    for origin in (
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{port + 1}",
        f"http://evil.example:{port}",
        "http://[",
    ):
        assert spoken(port, Origin=origin) == 403, origin
        assert asked(port, Origin=origin)[0] == 403, origin
    # What a tunnel (ssh -L 9000:...) makes of it.
    assert asked(port, Host="localhost:9000", Origin="http://localhost:9000")[0] == 200


def test_with_its_token_a_page_takes_any_name_but_no_other_sites_program(open_page):
    query = f"/?token={open_page.door.token}"
    assert asked(open_page.port, query, Host="robot.example")[0] == 303
    assert spoken(open_page.port, query, Origin="http://evil.example") == 403


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("", False),
        ("::", False),
    ],
)
def test_which_addresses_this_machine_alone_reaches(host, alone):
    assert is_loopback(host) is alone
    assert bool(Door(host).token) is not alone


def test_a_server_that_no_door_can_be_hung_in_is_refused():
    with pytest.raises(ada.InputError, match="no token can guard"), Door("0.0.0.0").hung():
        pass


def test_a_page_whose_door_was_passed_by_is_closed_again(monkeypatch):
    import websockets.asyncio.server as websockets

    serve, started = websockets.serve, []

    class PassingBy(viser.ViserServer):
        def __init__(self, **options):
            websockets.serve = serve  # as it was before the door was hung
            super().__init__(**options)
            started.append(self.get_port())
            socket.create_connection(("127.0.0.1", started[0]), timeout=20).close()

    monkeypatch.setattr(viser, "ViserServer", PassingBy)
    with pytest.raises(ada.InputError, match="no token can guard"):
        Page("test", host="0.0.0.0", port=0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", started[0]), timeout=20)
