# SPDX-License-Identifier: Apache-2.0
"""LLVM text that turns W states of an (n, size) array into a block of lanes and back; columns, several blocks at once.

Rows are read in windows of W/2 columns, row i beside row i + W/2 in one vector; butterfly stages of shuffles then
transpose each half. Where the columns do not fill the last window it overlaps the one before, so nothing outside
the rows is ever touched.
"""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.jit.emit import window_starts
from ada_dynamics.jit.llvm_text import Body, Lanes


def rows_in_name(size: int) -> str:
    """Name of the function that reads W rows of `size`."""
    return f"@rows_in_{size}"


def rows_out_name(size: int) -> str:
    """Name of the function that writes W rows of `size`."""
    return f"@rows_out_{size}"


def rows_in(size: int, width: int) -> str:
    """`void @rows_in_SIZE(rows, block)`: block[c * W + lane] = rows[lane * size + c]."""
    body = Body()
    half = width // 2
    if size == 1 or size < half:
        _unpack(body, size, Lanes(width))
    else:
        for start in window_starts(size, half):
            vectors = [_read_window(body, row * size + start, size, width) for row in range(half)]
            for column, vector in enumerate(_transpose_halves(body, vectors, width)):
                body.store(Lanes(width).real, vector, "%block", (start + column) * width)
    return _function(rows_in_name(size), "ptr %rows, ptr %block", body)


def rows_out(size: int, width: int) -> str:
    """`void @rows_out_SIZE(block, rows)`: the way back."""
    body = Body()
    half = width // 2
    if size == 1 or size < half:
        _pack(body, size, Lanes(width))
    else:
        for start in window_starts(size, half):
            columns = [body.load(Lanes(width).real, "%block", (start + c) * width) for c in range(half)]
            for row, vector in enumerate(_transpose_halves(body, columns, width)):
                _write_window(body, vector, row * size + start, size, width)
    return _function(rows_out_name(size), "ptr %block, ptr %rows", body)


def columns_in_name(size: int) -> str:
    """Name of the function that reads blocks of `size` columns."""
    return f"@columns_in_{size}"


def columns_out_name(size: int) -> str:
    """Name of the function that writes blocks of `size` columns."""
    return f"@columns_out_{size}"


def columns_in(size: int, width: int, together: int) -> str:
    """`void @columns_in_SIZE(columns, room, n, first)`: room[(k * size + c) * W + lane] = columns[c * n + at + lane].

    Block k of those that are laid out together begins at = min(first + k * W, n - W).

    All blocks of a column come after each other. Columns whose length is a power of two meet in a few sets of the
    nearest cache, where a line that two blocks share would be gone before the second one came. What the next blocks
    will read is asked for: a processor foresees a few streams, and each column is one.
    """
    body, real = Body(), Lanes(width).real
    starts = _starts(body, width, together)
    with body.repeat(str(size)) as c:
        column, blocks = _column(body, c, width)
        for k, start in enumerate(starts):
            place = body.element(column, start)
            body.store(real, body.load(real, place), blocks, k * size * width)
            body.prefetch(place, together * width)
    return _function(columns_in_name(size), "ptr %columns, ptr %room, i64 %n, i64 %first", body, "noinline")


def columns_out(size: int, width: int, together: int) -> str:
    """`void @columns_out_SIZE(columns, room, n, first)`: the way back.

    Blocks that a batch does not fill begin where its last one does, which is written after them.
    """
    body, real = Body(), Lanes(width).real
    starts = _starts(body, width, together)
    with body.repeat(str(size)) as c:
        column, blocks = _column(body, c, width)
        for k, start in reversed(list(enumerate(starts))):
            body.store(real, body.load(real, blocks, k * size * width), column, start)
    return _function(columns_out_name(size), "ptr %columns, ptr %room, i64 %n, i64 %first", body, "noinline")


def _starts(body: Body, width: int, together: int) -> list[str]:
    last = body.emit(f"sub i64 %n, {width}")
    places = ["%first", *(body.emit(f"add i64 %first, {k * width}") for k in range(1, together))]
    return [body.emit(f"call i64 @llvm.smin.i64(i64 {place}, i64 {last})") for place in places]


def _column(body: Body, c: str, width: int) -> tuple[str, str]:
    """Where a column begins, and where it lies in the first block."""
    column = body.element("%columns", body.emit(f"mul i64 %n, {c}"))
    return column, body.element("%room", body.emit(f"mul i64 {c}, {width}"))


def _function(name: str, parameters: str, body: Body, inlined: str = "alwaysinline") -> str:
    return f"define internal void {name}({parameters}) {inlined} #0 {{\n{body}\n  ret void\n}}\n"


def _read_window(body: Body, offset: int, size: int, width: int) -> str:
    half = width // 2
    kind = f"<{half} x double>"
    low = body.load(kind, "%rows", offset)
    high = body.load(kind, "%rows", offset + half * size)
    return _shuffle(body, kind, low, high, range(width))


def _write_window(body: Body, vector: str, offset: int, size: int, width: int) -> None:
    half = width // 2
    for part in range(2):
        lanes = range(part * half, (part + 1) * half)
        value = _shuffle(body, f"<{width} x double>", vector, "undef", lanes)
        body.store(f"<{half} x double>", value, "%rows", offset + part * half * size)


def _transpose_halves(body: Body, vectors: Sequence[str], width: int) -> list[str]:
    """Transpose the square of W/2 vectors by W/2 lanes in the lower and in the upper half of the lanes."""
    result = list(vectors)
    kind = f"<{width} x double>"
    distance = 1
    while distance < len(result):
        from_first = [lane if not lane & distance else width + lane - distance for lane in range(width)]
        from_second = [lane + distance if not lane & distance else width + lane for lane in range(width)]
        for i in range(len(result)):
            if not i & distance:
                a, b = result[i], result[i + distance]
                result[i] = _shuffle(body, kind, a, b, from_first)
                result[i + distance] = _shuffle(body, kind, a, b, from_second)
        distance *= 2
    return result


def _unpack(body: Body, size: int, lanes: Lanes) -> None:
    """Rows shorter than a window: the W rows are `size` whole vectors."""
    vectors = [body.load(lanes.real, "%rows", part * lanes.width) for part in range(size)]
    for column in range(size):
        wanted = [divmod(row * size + column, lanes.width) for row in range(lanes.width)]
        body.store(lanes.real, _pick(body, vectors, wanted, lanes), "%block", column * lanes.width)


def _pack(body: Body, size: int, lanes: Lanes) -> None:
    vectors = [body.load(lanes.real, "%block", column * lanes.width) for column in range(size)]
    for part in range(size):
        wanted = [divmod(part * lanes.width + lane, size)[::-1] for lane in range(lanes.width)]
        body.store(lanes.real, _pick(body, vectors, wanted, lanes), "%rows", part * lanes.width)


def _pick(body: Body, vectors: Sequence[str], wanted: Sequence[tuple[int, int]], lanes: Lanes) -> str:
    """The vector whose lane i is lane `wanted[i][1]` of vector `wanted[i][0]`."""
    result = vectors[0]
    order = [lane if source == 0 else 0 for source, lane in wanted]
    if order != list(range(lanes.width)):
        result = _shuffle(body, lanes.real, result, "undef", order)
    for index in range(1, len(vectors)):
        mask = [lanes.width + lane if source == index else i for i, (source, lane) in enumerate(wanted)]
        result = _shuffle(body, lanes.real, result, vectors[index], mask)
    return result


def _shuffle(body: Body, kind: str, a: str, b: str, lanes: Sequence[int]) -> str:
    mask = ", ".join(f"i32 {lane}" for lane in lanes)
    return body.emit(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{mask}>")
