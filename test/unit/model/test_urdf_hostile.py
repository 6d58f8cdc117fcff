# SPDX-License-Identifier: Apache-2.0
"""Documents made to harm are refused quickly, with our own error."""

import os
import re
import socket
import time

import pytest
from refused import refusal

from ada_dynamics.robots.load import load
from ada_dynamics.robots.readers import xml

QUICKLY = 5.0  # [s] of work, on a slow machine; each takes well under one


@pytest.fixture(autouse=True)
def quickly():
    start = time.process_time()
    yield
    assert time.process_time() - start < QUICKLY


def bomb(levels=9):
    entities = '<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    return f'<!DOCTYPE robot [{entities}]>\n<robot name="&e{levels - 1};"/>'


def dangling(joints):
    joint = '<joint name="joint_{0}" type="fixed"><parent link="nowhere_{0}"/><child link="l"/></joint>'
    return "<robot name='r'><link name='l'/>" + "".join(map(joint.format, range(joints))) + "</robot>"


LONG = "a" * 100_000
HOSTILE = {
    "entity bomb": (bomb(), "document type declaration"),
    "quadratic entity bomb": (
        f'<!DOCTYPE robot [<!ENTITY e "{LONG}">]><robot name="{"&e;" * 1000}"/>',
        "<!DOCTYPE",
    ),
    "external entity": ('<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="&e;"/>', "<!DOCTYPE"),
    "external document type": (
        '<!DOCTYPE robot SYSTEM "http://example.com/x.dtd"><robot name="r"/>',
        "<!DOCTYPE",
    ),
    "undefined entity": ('<robot name="r">\n&nbsp;</robot>', "line 2"),
    "deep nesting": ("<robot name='r'>" + "<a>" * 100_000, "nested", "200"),
    "lone surrogate": ("<robot name='\ud800'/>", "UTF-8"),
    "many dangling joints": (dangling(5_000), "nowhere_0"),
    "device": ("/dev/zero", "not a regular file"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_document_made_to_harm_is_refused_and_nothing_is_fetched(kind, monkeypatch):
    def no_network(*_, **__):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", no_network)
    refusal(*HOSTILE[kind])


@pytest.mark.parametrize(
    ("limit", "content", "said"),
    [
        ("MAX_ELEMENTS", "<a/>" * 2000, "more than 1000 elements"),
        ("MAX_BYTES", " " * 2000, "at most 1000"),
    ],
)
def test_a_document_that_is_too_big_is_refused(limit, content, said, monkeypatch):
    monkeypatch.setattr(xml, limit, 1000)
    refusal(f"<robot name='r'>{content}</robot>", said)


def test_files_that_are_too_big_or_never_end_are_refused_unread(tmp_path):
    with (tmp_path / "big.urdf").open("wb") as stream:
        stream.truncate(10 * 1024**3)  # sparse: it takes no space
    refusal(tmp_path / "big.urdf", f"at most {xml.MAX_BYTES}")
    os.mkfifo(tmp_path / "pipe.urdf")
    refusal(tmp_path / "pipe.urdf", "not a regular file")


NO_XML = [
    (b"", "is empty"),
    (b" \n\t ", "is empty"),
    (b"\x7fELF\x02\x01\x01\x00\x00", "NUL bytes"),
    (b"<robot name='r'>\n\n\x00</robot>", "line 3"),
    (b"PK\x03\x04 zip", "not XML"),
    (b"solid mesh\nfacet normal 0 0 1", "not XML: it starts with 'solid"),
    (b'{"json": 1}', "not XML"),
    (b"<robot name='r'>", "line 1.*truncated|truncated"),
    (b"<robot>\n<link></robot>", "line 2.*mismatched tag.*<link> of line 2"),
    (b"<robot name='r'>\n<link name=l/></robot>", "line 2"),
    (b"<robot name='r'>\n<link name='\xff\xfe'/></robot>", "line 2.*wrong encoding"),
    (b"<robot name='r' name='s'/>", "duplicate attribute"),
    (b"<robot name='r'/><robot name='s'/>", "junk after document element"),
    (b"<?xml version='1.0' encoding='shift_jis'?><robot name='r'/>", "encoding.*UTF-8"),
    (b"<?xml version='1.0' encoding='no-such'?><robot name='r'/>", "encoding.*UTF-8|unknown encoding"),
    (b"<?xml version='1.0' encoding='rot13'?><robot name='r'/>", "encoding.*UTF-8|unknown encoding"),
    (b"<?xml version='1.0'?>", "no element|truncated"),
    ("<robot name='r'/>".encode("utf-32"), "UTF-32"),
]


@pytest.mark.parametrize(("content", "said"), NO_XML)
def test_a_file_that_is_no_xml_is_refused_with_its_name_and_line(content, said, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_bytes(content)
    message = refusal(file)
    assert message.startswith(str(file))
    assert re.search(said, message)


LATIN_1 = "<?xml version='1.0' encoding='iso-8859-1'?>"


@pytest.mark.parametrize(
    ("encoding", "head", "name"),
    [("utf-8", "", "リンク"), ("utf-8-sig", "", "リンク"), ("utf-16", "", "リンク"), ("latin-1", LATIN_1, "gelöst")],
)
def test_files_in_unicode_encodings_and_those_that_say_theirs_are_read(encoding, head, name, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_bytes(f"{head}<robot name='r'><link name='{name}'/></robot>".encode(encoding))
    assert load(file).root == name


@pytest.mark.parametrize(
    ("attributes", "content"),
    [
        (" ".join(f'a{i}="1"' for i in range(100_000)), ""),
        ("", "<a>" * (xml.MAX_DEPTH - 1) + "</a>" * (xml.MAX_DEPTH - 1)),
    ],
    ids=["many attributes", "as deep as may be"],
)
def test_what_is_large_but_within_the_limits_is_read(attributes, content):
    assert load(f"<robot name='r' {attributes}><link name='l'/>{content}</robot>").nq == 0
