# SPDX-License-Identifier: Apache-2.0
"""XML parser with line numbers and limits of size, depth and number of elements for untrusted input.

Document type declarations are refused, so entities are never expanded and no other file is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from ada_dynamics.errors import ModelError
from ada_dynamics.structured_text.files import MAX_BYTES

# A description of 10^5 links has about 10^6 elements and 40 MB.
MAX_ELEMENTS = 2_000_000
MAX_DEPTH = 200
MAX_TAG = 8 * 1024 * 1024  # [byte] of a tag with its attributes, or a comment

_BLOCK = 1 << 20  # bytes per call of the parser; expat rescans an unfinished tag in each call


class Element:
    """An XML element.

    Attributes:
        tag: tag with its prefix.
        attributes: attributes by name.
        children: child elements.
        text: text of the element without that of its children.
        line: line in the file.
        file: included file that contains the element, or None for the main document.
    """

    __slots__ = ("attributes", "children", "file", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag, self.attributes, self.line = tag, attributes, line
        self.children: list[Element] = []
        self.text = ""
        self.file: str | None = None

    def all(self, tag: str) -> list[Element]:
        """Return the child elements with a tag."""
        return [c for c in self.children if c.tag == tag]

    def first(self, tag: str) -> Element | None:
        """Return the first child element with a tag, or None."""
        return next((c for c in self.children if c.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """Iterate over the element and its descendants in document order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(reversed(element.children))

    def __repr__(self) -> str:
        return f"<{self.tag}> in line {self.line}"


def parse_xml(data: bytes | str, where: str) -> Element:
    """Parse an XML document and return its root element.

    Args:
        data: the document; bytes are decoded with the encoding that it declares (UTF-8 by default).
        where: name of the file, for messages.

    Raises:
        ModelError: the document is empty, too large, nested too deeply, not well-formed, of unknown encoding, or has a
            document type declaration.
    """
    raw = _with_plain_comments(_checked(data, where))
    return _XmlParser(where, "utf-8" if isinstance(data, str) else None).parse(raw)


def _error(file: str, message: str, line: int | None = None) -> ModelError:
    place = file if line is None else f"{file}, line {line}"
    return ModelError(f"{place}: {message}", file=file, line=line)


def _checked(data: bytes | str, where: str) -> bytes:
    """Return the document as bytes; raise ModelError for other file types."""
    try:
        raw = data.encode("utf-8") if isinstance(data, str) else data
    except UnicodeEncodeError as problem:
        raise _error(where, f"the text cannot be encoded as UTF-8 ({problem.reason}).") from None
    if isinstance(data, str):
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    if len(raw) > MAX_BYTES:
        raise _error(where, f"it has {len(raw)} bytes; a robot description may have at most {MAX_BYTES}.")
    if not raw.strip():
        raise _error(where, "it is empty; a robot description starts with <robot name=...>.")
    is_utf16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    is_usdz = raw.startswith(b"PK\x03\x04") and b".usd" in raw[:200]
    if is_usdz or raw[:64].lstrip().startswith((b"#usda", b"PXR-USDC")):
        fix = "convert it to URDF or MJCF, for example with the tools of Isaac Sim or MuJoCo."
        raise _error(where, f"it is a USD scene, which is not supported; {fix}")
    if b"\x00" in raw and not is_utf16:
        line = raw.count(b"\n", 0, raw.index(b"\x00")) + 1
        raise _error(where, "it contains NUL bytes, so it is a binary file and not XML text.", line)
    start = raw[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not is_utf16 and not start.startswith(b"<"):
        shown = start[:24].decode("utf-8", "replace")
        raise _error(where, f"it is not XML: it starts with {shown!r} and not with '<'.")
    # tinyxml2 (ROS, MuJoCo, Gazebo) accepts a declaration after white space
    return re.sub(rb"\A(\s+)<\?xml[^>]*\?>", rb"\1", raw)


def _with_plain_comments(raw: bytes) -> bytes:
    """Blank hyphens in comments: XML forbids two of them, but tinyxml2 (ROS, MuJoCo, Gazebo) accepts them."""
    parts, at = [], 0
    while (start := raw.find(b"<!", at)) >= 0:
        is_comment = raw.startswith(b"<!--", start)
        closing = b"-->" if is_comment else b"]]>" if raw.startswith(b"<![CDATA[", start) else b">"
        end = raw.find(closing, start + 4 if is_comment else start)
        if end < 0:
            break
        inside = raw[start + 4 : end].replace(b"-", b" ") if is_comment else b""
        parts += [raw[at : start + 4], inside] if is_comment else [raw[at:end]]
        parts.append(closing)
        at = end + len(closing)
    return b"".join([*parts, raw[at:]])


class _XmlParser:
    """One run of expat."""

    def __init__(self, where: str, encoding: str | None) -> None:
        self._where = where
        self._open: list[Element] = []
        self._root: Element | None = None
        self._count = 0
        self._texts: list[list[str]] = []
        parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = lambda name, *_: self._refuse(
            f"a document type declaration (<!DOCTYPE {name[:40]} ...>)"
        )
        parser.EntityDeclHandler = lambda name, *_: self._refuse(f"an entity declaration ({name[:40]})")
        self._expat = parser

    def parse(self, raw: bytes) -> Element:
        try:
            for start in range(0, len(raw), _BLOCK):
                self._expat.Parse(raw[start : start + _BLOCK], False)
                self._check_tag(start + _BLOCK)
            self._expat.Parse(b"", True)
        except expat.ExpatError as problem:
            raise self._not_well_formed(problem) from None
        except (ValueError, LookupError) as problem:
            if isinstance(problem, ModelError):
                raise
            raise _error(self._where, f"its encoding cannot be read ({problem}); save it as UTF-8.") from None
        if self._root is None:
            raise _error(self._where, "it has no element; a robot description starts with <robot name=...>.")
        return self._root

    def _check_tag(self, given: int) -> None:
        """Refuse long unfinished tags, whose parsing time is quadratic in their length."""
        if given - self._expat.CurrentByteIndex > MAX_TAG:
            line = self._expat.CurrentLineNumber
            message = f"a tag with its attributes, or a comment, has more than {MAX_TAG} bytes, which is the limit."
            raise _error(self._where, message, line)

    def _not_well_formed(self, problem: expat.ExpatError) -> ModelError:
        reason = expat.ErrorString(problem.code)
        inside = f", inside <{self._open[-1].tag}> of line {self._open[-1].line}" if self._open else ""
        fix = {
            "not well-formed (invalid token)": "Look for a stray <, & or quotation mark, or a wrong encoding.",
            "mismatched tag": "Close every element with its own name.",
            "no element found": "The file ends too early: is it truncated?",
            "unclosed token": "The file ends too early: is it truncated?",
            "unknown encoding": "Save it as UTF-8.",
        }.get(reason, "")
        place = f"{self._where}, line {problem.lineno}, column {problem.offset + 1}"
        message = f"{place}: not well-formed XML: {reason}{inside}. {fix}".rstrip()
        return ModelError(message, file=self._where, line=problem.lineno)

    # --- callbacks of expat -------------------------------------------------------------------------------------
    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._expat.CurrentLineNumber
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise _error(self._where, f"it has more than {MAX_ELEMENTS} elements, which is the limit.", line)
        if len(self._open) >= MAX_DEPTH:
            raise _error(self._where, f"elements are nested more than {MAX_DEPTH} deep, which is the limit.", line)
        element = Element(tag, attributes, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)
        self._texts.append([])

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        element.text = "".join(self._texts.pop()).strip()

    def _text(self, text: str) -> None:
        if self._texts and not text.isspace():
            self._texts[-1].append(text)

    def _refuse(self, what: str) -> NoReturn:
        message = f"it has {what}, which is refused, as entities can exhaust the memory or read other files; remove it."
        raise _error(self._where, message, self._expat.CurrentLineNumber)
