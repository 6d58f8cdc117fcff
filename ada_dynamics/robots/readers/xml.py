# SPDX-License-Identifier: Apache-2.0
"""XML into a light element tree with line numbers; hostile input is refused early, by name, within bounded work.

A document type declaration is never accepted, so there are no entities to expand and nothing is ever fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from ada_dynamics.errors import ModelError
from ada_dynamics.structured_text.files import MAX_BYTES

# A description of 10^5 links has about 10^6 elements and 40 MB; real robots stay a hundred times below.
MAX_ELEMENTS = 2_000_000
MAX_DEPTH = 200
MAX_TAG = 8 * 1024 * 1024  # [byte] of a tag with its attributes, or a comment; a mesh written as numbers has some

_BLOCK = 1 << 20  # bytes given to the parser at a time; expat looks again at an unfinished tag with each
_MARKS = {  # byte order marks of encodings that XML may have and expat does not read
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
}


class Element:
    """An XML element: tag as written (with its prefix), attributes, child elements, own text, line in the file."""

    __slots__ = ("attributes", "children", "file", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag, self.attributes, self.line = tag, attributes, line
        self.children: list[Element] = []
        self.text = ""
        self.file: str | None = None  # where it stands, if not in the document itself

    def all(self, tag: str) -> list[Element]:
        """Child elements with this tag."""
        return [c for c in self.children if c.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child element with this tag."""
        return next((c for c in self.children if c.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in document order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(reversed(element.children))

    def __repr__(self) -> str:
        return f"<{self.tag}> in line {self.line}"


def parse_xml(data: bytes | str, where: str, *, max_elements: int = MAX_ELEMENTS) -> Element:
    """The root element of an XML document.

    Args:
        data: the document; text is taken as it is, bytes are decoded as the document says (UTF-8 by default).
        where: name of the file, for messages.
        max_elements: a document with more elements is refused.

    Raises:
        ModelError: empty, too big, nested too deeply, not well-formed, of unknown encoding, or with a document type.
    """
    raw = _with_plain_comments(_checked(data, where))
    return _Parser(where, "utf-8" if isinstance(data, str) else None, max_elements).parse(raw)


def _checked(data: bytes | str, where: str) -> bytes:
    """The document as bytes, unless a glance at it shows that it cannot be one."""
    try:
        raw = data.encode("utf-8") if isinstance(data, str) else data
    except UnicodeEncodeError as problem:
        raise ModelError(f"{where}: the text cannot be encoded as UTF-8 ({problem.reason}).") from None
    if isinstance(data, str):
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    if len(raw) > MAX_BYTES:
        raise ModelError(f"{where}: it has {len(raw)} bytes; a robot description may have at most {MAX_BYTES}.")
    if not raw.strip():
        raise ModelError(f"{where}: it is empty; a robot description starts with <robot name=...>.")
    for mark, encoding in _MARKS.items():
        if raw.startswith(mark):
            raise ModelError(f"{where}: it is encoded as {encoding}; save it as UTF-8.")
    is_utf16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    is_usdz = raw.startswith(b"PK\x03\x04") and b".usd" in raw[:200]
    if is_usdz or raw[:64].lstrip().startswith((b"#usda", b"PXR-USDC")):
        fix = "convert it to URDF or MJCF, for example with Isaac Sim's or MuJoCo's tools."
        raise ModelError(f"{where}: it is a USD scene, and robots are not read from USD: {fix}")
    if b"\x00" in raw and not is_utf16:
        line = raw.count(b"\n", 0, raw.index(b"\x00")) + 1
        raise ModelError(f"{where}, line {line}: it contains NUL bytes, so it is a binary file and not XML text.")
    start = raw[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not is_utf16 and not start.startswith(b"<"):
        shown = start[:24].decode("utf-8", "replace")
        raise ModelError(f"{where}: it is not XML: it starts with {shown!r} and not with '<'.")
    return raw


def _with_plain_comments(raw: bytes) -> bytes:
    """The document with hyphens in comments made blank: XML forbids two of them, tinyxml2 (ROS, MuJoCo, Gazebo) not."""
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


class _Parser:
    """One run of expat."""

    def __init__(self, where: str, encoding: str | None, max_elements: int) -> None:
        self._where, self._max_elements = where, max_elements
        self._open: list[Element] = []
        self._root: Element | None = None
        self._count = 0
        self._texts: list[list[str]] = []
        parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
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
            raise ModelError(f"{self._where}: its encoding cannot be read ({problem}); save it as UTF-8.") from None
        if self._root is None:
            raise ModelError(f"{self._where}: it has no element; a robot description starts with <robot name=...>.")
        return self._root

    def _check_tag(self, given: int) -> None:
        """Refuse a tag that does not end, for reading it takes the square of its length."""
        if given - self._expat.CurrentByteIndex > MAX_TAG:
            line = self._expat.CurrentLineNumber
            raise ModelError(
                f"{self._where}, line {line}: a tag with its attributes, or a comment, that begins here has more than "
                f"{MAX_TAG} bytes, the most that are read."
            )

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
        return ModelError(f"{place}: not well-formed XML: {reason}{inside}. {fix}".rstrip())

    # --- what expat calls ---------------------------------------------------------------------------------------
    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._expat.CurrentLineNumber
        self._count += 1
        if self._count > self._max_elements:
            raise ModelError(
                f"{self._where}, line {line}: it has more than {self._max_elements} elements, the most that are read."
            )
        if len(self._open) >= MAX_DEPTH:
            raise ModelError(
                f"{self._where}, line {line}: elements are nested more than {MAX_DEPTH} deep, the most that is read."
            )
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

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        raise self._refused(f"a document type declaration (<!DOCTYPE {name[:40]} ...>)")

    def _entity(self, name: str, *rest: object) -> None:
        raise self._refused(f"an entity declaration ({name[:40]})")

    def _refused(self, what: str) -> ModelError:
        return ModelError(
            f"{self._where}, line {self._expat.CurrentLineNumber}: it has {what}. Robot descriptions need none, and "
            "entities can fill the memory or read other files, so they are refused: remove it."
        )
