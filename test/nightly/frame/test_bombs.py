# SPDX-License-Identifier: Apache-2.0
"""Files made to fill memory, to take for ever or to fetch other files are refused by name, within bounds."""

import struct

import pytest
from bounded_reading import outcome

from ada_dynamics import ModelError, load, resources

MANY = 10**5
ROOM = 60 * 2**20  # [byte], nearly as much as is read of a file at all
ROBOT = "<robot name='r'>{}</robot>"
WORLD = "<mujoco>{}<worldbody><body><geom size='1'/></body></worldbody></mujoco>"
SDF = "<sdf version='1.9'><model name='m'>{}</model></sdf>"
XACRO = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>{}</robot>"


def laughs(levels=12):
    entities = '<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    return f"<!DOCTYPE r [{entities}]>"


def outside(address):
    return f'<!DOCTYPE r [<!ENTITY e SYSTEM "{address}">]>'


def aliases(levels=12, key="loops"):
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels))]
    return "\n".join([*lines, f"{key}: *a{levels - 1}"])


def mappings(levels=40):
    lines = ["a0: &a0 {x: 1}", *(f"a{i}: &a{i} {{l: *a{i - 1}, r: *a{i - 1}}}" for i in range(1, levels))]
    return "\n".join(lines)


def _ring(joints=2000):
    links = (
        f"<link name='l{i + 1}'/><joint name='j{i}' type='continuous'><parent link='l{i}'/><child link='l{i + 1}'/>"
        f"<mimic joint='j{(i + 1) % joints}'/></joint>"
        for i in range(joints)
    )
    return ROBOT.format("<link name='l0'/>" + "".join(links))


ROBOTS = {
    "elements nested 100 000 deep": ("r.urdf", ROBOT.format("<a>" * MANY)),
    "models nested 100 000 deep": ("r.sdf", SDF.format("<model name='n'>" * MANY)),
    "entities of entities": ("r.urdf", laughs() + ROBOT.format("&e11;")),
    "entities in an MJCF": ("r.xml", laughs() + WORLD.format("&e11;")),
    "entities in a xacro": ("r.xacro", laughs() + XACRO.format("&e11;")),
    "an entity that is a file": ("r.urdf", outside("file:///etc/passwd") + ROBOT.format("&e;")),
    "an entity from a network": ("r.sdf", outside("http://127.0.0.1:9/x") + SDF.format("&e;")),
    "an attribute of 60 MB": ("r.urdf", lambda: ROBOT.format(f"<link name='{'a' * ROOM}'/>")),
    "a name of 7 MB, twice": ("r.urdf", lambda: ROBOT.format(f"<link name='{'a' * 7 * 2**20}'/>" * 2)),
    "15 million elements": ("r.urdf", lambda: ROBOT.format("<a/>" * (ROOM // 4))),
    "joints that mimic one another in a ring": ("r.urdf", _ring),
    "poses that stand on one another": (
        "r.sdf",
        SDF.format("<link name='a'><pose relative_to='b'/></link><link name='b'><pose relative_to='a'/></link>"),
    ),
    "an MJCF that includes itself": ("r.xml", WORLD.format("<include file='r.xml'/>")),
    "a file of the system": ("r.xml", WORLD.format("<include file='/etc/passwd'/>")),
    "a device without an end": ("r.xml", WORLD.format("<include file='/dev/zero'/>")),
    "a macro that calls itself": ("r.xacro", XACRO.format("<xacro:macro name='m'><xacro:m/></xacro:macro><xacro:m/>")),
    "macros that call others ten times": (
        "r.xacro",
        XACRO.format(
            "".join(f"<xacro:macro name='m{i}'>{f'<xacro:m{i + 1}/>' * 10}</xacro:macro>" for i in range(12))
            + "<xacro:macro name='m12'><link name='l'/></xacro:macro><xacro:m0/>"
        ),
    ),
}


def test_a_text_includes_no_file():
    with pytest.raises(ModelError):
        load(WORLD.format("<include file='/etc/passwd'/>"))


YAMLS = {
    "lists of lists of lists": aliases(),
    "mappings of mappings": mappings(),
    "a list in itself": "loops: &a [*a]",
    "a mapping in itself": "loops: &a {b: *a}",
    "brackets 100 000 deep": "loops: " + "[" * MANY,
    "braces 100 000 deep": "{a: " * MANY,
    "merges": "a: &a {b: 1}\nloops: {<<: [" + ", ".join(["*a"] * MANY) + "]}",
    "an object of Python": "loops: !!python/object/apply:os.system [id]",
    "a key of 3 MB": "? " + "k" * 3 * 2**20 + "\n: 1",
    "too many entries": "loops: [" + "1," * 10**6 + "]",
}


JSONS = {
    "brackets": "[" * MANY,
    "braces": '{"loops": ' * MANY,
    "a long number": '{"loops": ' + "1" * 10**6 + "}",
    "many": '{"loops": [' + "1," * (10**6) + "1]}",
    "a long text": '{"loops": "' + "\\u0000" * 10**6 + '"}',
}


def record(opcode, content):
    return struct.pack("<BQ", opcode, len(content)) + content


def text(words):
    return struct.pack("<I", len(words)) + words.encode()


def mcap(*records):
    return b"\x89MCAP0\r\n" + record(1, text("") + text("x")) + b"".join(records)


def chunk(compression, size, data):
    return record(6, struct.pack("<QQQI", 0, 0, size, 0) + text(compression) + struct.pack("<Q", len(data)) + data)


def by_zstd(size):
    import zstandard

    return zstandard.compress(bytes(size))


def by_lz4(size):
    import lz4.frame

    return lz4.frame.compress(bytes(size))


BAGS = {
    "a chunk that grows to 600 MB, zstd": lambda: mcap(chunk("zstd", 600 * 2**20, by_zstd(600 * 2**20))),
    "a chunk that says it is small, zstd": lambda: mcap(chunk("zstd", 100, by_zstd(600 * 2**20))),
    "a chunk that says it is small, lz4": lambda: mcap(chunk("lz4", 100, by_lz4(600 * 2**20))),
    "a chunk that says 2^63": lambda: mcap(chunk("zstd", 2**63, by_zstd(100))),
    "a record of 2^62 bytes": lambda: mcap() + struct.pack("<BQ", 6, 2**62) + bytes(100),
    "a text of 4 GB": lambda: mcap(record(0x0C, struct.pack("<I", 2**32 - 1) + bytes(100))),
    "a JSON 100 000 deep": lambda: mcap(
        record(
            0x0C, text("ada_dynamics:end") + (lambda d: struct.pack("<I", len(d)) + d)(text("info") + text("[" * MANY))
        )
    ),
}


def stl(claimed, triangles=b""):
    return bytes(80) + struct.pack("<I", claimed) + triangles


DAE = '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">{}</COLLADA>'
MESHES = {
    "4 billion triangles that are not there": ("m.stl", stl(2**32 - 1)),
    "text of 60 MB in one line": ("m.stl", lambda: "solid " + "x" * ROOM),
    "text of 60 MB of vertices": ("m.stl", lambda: "solid\nfacet\n" + "vertex 1 1 1\n" * (ROOM // 13)),
    "OBJ: one line": ("m.obj", lambda: "v " + "1 " * (ROOM // 2)),
    "OBJ: an index beyond": ("m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999999\n"),
    "OBJ: a polygon of 10 million corners": ("m.obj", lambda: "v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + "1 2 3 " * 10**7),
    "DAE: entities": ("m.dae", laughs() + DAE.format("&e11;")),
    "DAE: a file": ("m.dae", outside("file:///etc/passwd") + DAE.format("&e;")),
    "DAE: deep": ("m.dae", DAE.format("<a>" * MANY)),
    "DAE: 15 million elements": ("m.dae", lambda: DAE.format("<a/>" * (ROOM // 4))),
    "DAE: one number list": (
        "m.dae",
        lambda: DAE.format(
            "<library_geometries><geometry id='g'><mesh><source id='s'><float_array id='f' count='4000000000'>"
            + "1 " * (ROOM // 16)
            + "</float_array></source></mesh></geometry></library_geometries>"
        ),
    ),
}


def test_a_material_from_elsewhere_is_left_out(tmp_path):
    path = tmp_path / "m.obj"
    path.write_text("mtllib /dev/zero\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert outcome("mesh", path) == "read"


TABLES = {
    "one line of letters": lambda: "t" * ROOM,
    "one line of numbers": lambda: "t\n" + "1," * (ROOM // 2),
    "one line of names": lambda: "t," * (ROOM // 2),
    "a quotation without end": lambda: 't,"' + "\n" * ROOM,
}


def _in_file(name, bombs):
    return {bomb: (name, content) for bomb, content in bombs.items()}


BOMBS = {
    ("load",): ROBOTS,
    ("loops", "parameters"): _in_file("file.yaml", YAMLS),
    ("loops",): _in_file("file.json", JSONS),
    ("scenario", "sweep", "angle map", "ada reproduce"): {"lists": ("file.yaml", aliases())},
    ("log",): _in_file("r.mcap", BAGS),
    ("mesh",): MESHES,
    ("table", "motion"): _in_file("r.csv", TABLES),
}


@pytest.mark.parametrize(
    ("how", "name", "content"),
    [
        pytest.param(how, *file, id=f"{how}: {bomb}")
        for ways, bombs in BOMBS.items()
        for how in ways
        for bomb, file in bombs.items()
    ],
)
def test_a_file_made_to_harm_is_refused_by_its_name_within_bounds_and_not_for_want_of_memory(
    how, name, content, tmp_path
):
    angles = resources.find("config", "khr1_angle_map.yaml")
    (tmp_path / angles.name).write_bytes(angles.read_bytes())  # of motions
    path, content = tmp_path / name, content() if callable(content) else content
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    said = outcome(how, path)
    assert said.startswith("refused: "), said
    assert "MemoryError" not in said
    assert how == "mesh" or name in said, said
