# SPDX-License-Identifier: Apache-2.0
"""The gallery: examples/README.md as cards, and for each example a page with its picture, command and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^\| \[([^]]+)\]\(([\w./]+)\) \| (.*) \|$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^]]*)\]\(\.\./docs/(images/\S+)\)")


@dataclass(frozen=True)
class Example:
    """A row of the table in examples/README.md, with what stands under its own heading there."""

    title: str
    file: str
    section: str
    shows: str
    told: str
    picture: str
    alternative: str

    @property
    def page(self) -> str:
        """Name of its page."""
        return Path(self.file).stem


def examples() -> Iterator[Example]:
    """All of them, in the order of the table."""
    text = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    sections = dict(_parts(text, "## "))
    told = {file: part for section in sections.values() for file, part in _parts(section, "### ")}
    for section, part in sections.items():
        for title, file, shows in _ROW.findall(part):
            more = told.get(Path(file).name, "")
            picture = _PICTURE.search(more)
            yield Example(
                title=title,
                file=file,
                section=section or "First steps",
                shows=shows[0].upper() + shows[1:],
                told=_PICTURE.sub("", more).strip(),
                picture=picture[2] if picture else "",
                alternative=picture[1] if picture else "",
            )


def pictures_of_pages() -> Iterator[tuple[str, str, str, str]]:
    """The other pictures: file, what is to be seen, page that it stands on, and its title. Each once."""
    seen = set()
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for alternative, picture in re.findall(r"!\[([^]]+)\]\((images/[^)]+)\)", text):
            shown = "example_" in picture or page.stem in ("index", "features", "models")
            if picture not in seen and not shown:
                seen.add(picture)
                yield picture, alternative, page.stem, text.split("\n", 1)[0].removeprefix("# ")


def models() -> Iterator[tuple[str, str, str]]:
    """The mechanisms of docs/models.md: name, picture and summary."""
    text = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    for words, picture, name in re.findall(r"!\[([^]]+)\]\((images/model_(\w+)\.png)\)", text):
        yield name, picture, words


def _parts(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """A text cut at its headings: heading and what follows; the first has none."""
    pieces = re.split(rf"^{mark}(.*)$", text, flags=re.MULTILINE)
    yield "", pieces[0]
    yield from zip(pieces[1::2], pieces[2::2], strict=True)


def hub() -> str:
    """The page of cards: those with pictures first."""
    every = list(examples())
    page = (
        "# Gallery\n\nEach picture leads to the program that computed it. They are all in the folder `examples/`; "
        "each runs by itself and opens no window.\n\n::::{grid} 1 2 2 3\n:gutter: 3\n\n"
    )
    page += "".join(_card(one.title, one.page, one.picture, one.alternative, one.shows) for one in every if one.picture)
    page += (
        "::::\n\n## Models with closed loops\n\nAll are in the catalogue; [a table](../models.md) has their accuracy.\n"
        "\n::::{grid} 1 2 3 4\n:gutter: 3\n\n"
    )
    page += "".join(_card(name, "../models", picture, words, words) for name, picture, words in models())
    page += "::::\n\n## Pictures of the pages\n\n::::{grid} 1 2 2 3\n:gutter: 3\n\n"
    page += "".join(
        _card(title, f"../{name}", picture, seen, seen) for picture, seen, name, title in pictures_of_pages()
    )
    page += "::::\n"
    last = ""
    for one in every:
        if not one.picture:
            page += f"\n## {one.section}\n\n" if one.section != last else ""
            page += f"- [{one.title}]({one.page}.md): {one.shows}\n"
            last = one.section
    rows = "\n".join(one.page for one in every)
    return f"{page}\n```{{toctree}}\n:hidden:\n\n../models\n{rows}\n```\n"


def _card(title: str, link: str, picture: str, alternative: str, words: str) -> str:
    return (
        f":::{{grid-item-card}} {title}\n:link: {link}\n:link-type: doc\n:img-top: ../{picture}\n"
        f":img-alt: {alternative}\n\n{words}\n:::\n\n"
    )


def page(one: Example) -> str:
    """The page of an example."""
    is_sweep = one.file.endswith(".yaml")
    command = f"ada sweep examples/{one.file} --output {one.page}" if is_sweep else f"python examples/{one.file}"
    image = f"![{one.alternative}](../{one.picture})\n\n" if one.picture else ""
    language = "yaml" if is_sweep else "python"
    return (
        f"# {one.title}\n\n{one.shows}.\n\n{image}{one.told}\n\n"
        f"```console\n$ {command}\n```\n\n"
        f"```{{literalinclude}} ../../examples/{one.file}\n:language: {language}\n:lines: 2-\n```\n"
    )


def texts() -> dict[str, str]:
    """All pages by the name of their file."""
    return {"index.md": hub()} | {f"{one.page}.md": page(one) for one in examples()}
