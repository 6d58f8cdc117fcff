# SPDX-License-Identifier: Apache-2.0
"""Documents made to harm are refused quickly, with our own error."""

import os
import socket
import time

import pytest

from ada_dynamics import ModelError
from ada_dynamics.robots.load import load
from ada_dynamics.robots.readers import xml

QUICKLY = 5.0  # [s] of work, on a slow machine; each takes well under one


def refusal(source) -> str:
    start = time.process_time()
    with pytest.raises(ModelError) as caught:
        load(source)
    assert time.process_time() - start < QUICKLY
    return str(caught.value)


def bomb(levels: int = 9) -> str:
    entities = '<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    return f'<!DOCTYPE robot [{entities}]>\n<robot name="&e{levels - 1};"/>'


def test_an_entity_bomb_is_refused():
    assert "document type declaration" in refusal(bomb())


def test_a_quadratic_entity_bomb_is_refused():
    entity = "a" * 100_000
    assert "<!DOCTYPE" in refusal(f'<!DOCTYPE robot [<!ENTITY e "{entity}">]><robot name="{"&e;" * 1000}"/>')


def test_an_external_entity_is_refused_and_not_read():
    assert "<!DOCTYPE" in refusal('<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="&e;"/>')


def test_an_external_document_type_is_refused_and_not_fetched(monkeypatch):
    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", no_network)
    assert "<!DOCTYPE" in refusal('<!DOCTYPE robot SYSTEM "http://example.com/x.dtd"><robot name="r"/>')


def test_an_undefined_entity_is_refused_with_its_line():
    assert "line 2" in refusal('<robot name="r">\n&nbsp;</robot>')


def test_deep_nesting_is_refused():
    message = refusal("<robot name='r'>" + "<a>" * 100_000)
    assert "nested" in message and "200" in message


def test_nesting_within_the_limit_is_read():
    depth = xml.MAX_DEPTH - 1
    assert load("<robot name='r'><link name='l'/>" + "<a>" * depth + "</a>" * depth + "</robot>").nq == 0


def test_too_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 1000)
    assert "more than 1000 elements" in refusal("<robot name='r'>" + "<a/>" * 2000 + "</robot>")


def test_a_document_that_is_too_big_is_refused(monkeypatch):
    monkeypatch.setattr(xml, "MAX_BYTES", 1000)
    assert "at most 1000" in refusal("<robot name='r'>" + " " * 2000 + "</robot>")


def test_a_file_that_is_too_big_is_refused_unread(tmp_path):
    file = tmp_path / "big.urdf"
    with file.open("wb") as stream:
        stream.truncate(10 * 1024**3)  # sparse: it takes no space
    assert f"at most {xml.MAX_BYTES}" in refusal(file)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    pipe = tmp_path / "robot.urdf"
    os.mkfifo(pipe)
    assert "not a regular file" in refusal(pipe)


def test_a_device_is_refused():
    assert "not a regular file" in refusal("/dev/zero")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\t ", "is empty"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "NUL bytes"),
        (b"<robot name='r'>\n\n\x00</robot>", "line 3"),
        (b"PK\x03\x04 zip", "not XML"),
        (b"solid mesh\nfacet normal 0 0 1", "not XML: it starts with 'solid"),
        (b'{"json": 1}', "not XML"),
        (b"<robot name='r'>", "line 1.*truncated|truncated"),
        (b"<robot name='r'>\n<link name='l'></robot>", "line 2.*mismatched tag.*<link> of line 2"),
        (b"<robot name='r'>\n<link name=l/></robot>", "line 2"),
        (b"<robot name='r'>\n<link name='\xff\xfe'/></robot>", "line 2.*wrong encoding"),
        (b"<robot name='r' name='s'/>", "duplicate attribute"),
        (b"<robot name='r'/><robot name='s'/>", "junk after document element"),
        (b"<?xml version='1.0' encoding='shift_jis'?><robot name='r'/>", "encoding.*UTF-8"),
        (b"<?xml version='1.0' encoding='no-such'?><robot name='r'/>", "encoding.*UTF-8|unknown encoding"),
        (b"<?xml version='1.0' encoding='rot13'?><robot name='r'/>", "encoding.*UTF-8|unknown encoding"),
        (b"<?xml version='1.0'?>", "no element|truncated"),
        ("<robot name='r'/>".encode("utf-32"), "UTF-32"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_xml_is_refused_with_its_name_and_line(content, said, tmp_path):
    import re

    file = tmp_path / "robot.urdf"
    file.write_bytes(content)
    message = refusal(file)
    assert message.startswith(str(file))
    assert re.search(said, message)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_in_unicode_encodings_are_read(encoding, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_bytes("<robot name='r'><link name='リンク'/></robot>".encode(encoding))
    assert load(file).root == "リンク"


def test_files_in_latin_1_are_read_if_they_say_so(tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_bytes("<?xml version='1.0' encoding='iso-8859-1'?><robot name='r'><link name='gelöst'/></robot>".encode("latin-1"))  # fmt: skip  # noqa: E501
    assert load(file).root == "gelöst"


def test_text_with_a_lone_surrogate_is_refused():
    assert "UTF-8" in refusal("<robot name='\ud800'/>")


def test_many_attributes_are_read_in_time():
    attributes = " ".join(f'a{i}="1"' for i in range(100_000))
    assert load(f"<robot name='r' {attributes}><link name='l'/></robot>").nq == 0


def test_many_dangling_joints_are_refused_in_time():
    joints = "".join(
        f'<joint name="joint_{i}" type="fixed"><parent link="nowhere_{i}"/><child link="l"/></joint>'
        for i in range(20_000)
    )
    assert "nowhere_0" in refusal(f"<robot name='r'><link name='l'/>{joints}</robot>")
