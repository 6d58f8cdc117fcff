# SPDX-License-Identifier: Apache-2.0
"""A participant with DDS security, by the Cyclone DDS of Debian (libddsc0debian) alone: no ROS, no compiler."""

from __future__ import annotations

import ctypes
import json
import os
import select
import sys
from pathlib import Path

LIBRARY = "libddsc.so.0debian"  # with its plugins beside it, as the wheels of PyPI have not
NOT_ALLOWED = -13
LOOPBACK = (
    '<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lo"/></Interfaces><AllowMulticast>false'
    "</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address='127.0.0.1'/>"
    "</Peers></Discovery></Domain></CycloneDDS>"
)
_PLUGINS = {"auth": "authentication", "crypto": "crypto", "access": "access_control"}
_FILES = {"auth": "dds_security_auth", "crypto": "dds_security_crypto", "access": "dds_security_ac"}
_PERIOD = 0.05  # [s]


class _Descriptor(ctypes.Structure):
    """dds_topic_descriptor_t of version 0.10."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("size", "align", "flags", "keys")),
        ("type_name", ctypes.c_char_p),
        ("key_list", ctypes.c_void_p),
        ("operations", ctypes.c_uint32),
        ("operation_list", ctypes.POINTER(ctypes.c_uint32)),
        ("meta", ctypes.c_char_p),
        *((name, ctypes.c_uint64) for name in ("type_data", "type_size", "map_data", "map_size", "representation")),
    )


def folder_of_plugins() -> Path | None:
    """Where the plugins lie; None where the library or a plugin is not installed."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    loaded = next(Path(line.split()[-1]) for line in lines if "/libddsc.so" in line)
    folder = loaded.parent / "libddsc0debian"
    return folder if all((folder / f"lib{name}.so").exists() for name in _FILES.values()) else None


def main() -> None:
    order = json.loads(sys.argv[1])
    os.environ["CYCLONEDDS_URI"] = LOOPBACK
    dds = ctypes.CDLL(LIBRARY)
    dds.dds_create_qos.restype = ctypes.c_void_p
    settings = ctypes.c_void_p(dds.dds_create_qos())
    for name, value in {**(_security() if order["keys"] else {}), **order["keys"]}.items():
        dds.dds_qset_prop(settings, name.encode(), value.encode())
    participant = _made(dds.dds_create_participant(order["domain"], settings, None))
    one_number = (ctypes.c_uint32 * 3)(0x01030000, 0, 0)  # at byte 0 four bytes; the end
    descriptor = _Descriptor(4, 4, 1 << 4, 0, b"Number", None, 2, one_number, b"", 0, 0, 0, 0, 0)
    topic = _made(dds.dds_create_topic(participant, ctypes.byref(descriptor), order["topic"].encode(), None, None))
    create = dds.dds_create_writer if "write" in order else dds.dds_create_reader
    end = _made(create(participant, topic, None, None))
    _say("ready")
    while not select.select([sys.stdin], [], [], _PERIOD)[0]:
        if "write" in order:
            dds.dds_write(end, ctypes.byref(ctypes.c_uint32(order["write"])))
        else:
            _read(dds, end)


def _security() -> dict[str, str]:
    folder = folder_of_plugins()
    found = {}
    for part, name in _PLUGINS.items():
        found[f"dds.sec.{part}.library.path"] = f"{folder}/lib{_FILES[part]}.so"
        found[f"dds.sec.{part}.library.init"] = f"init_{name}"
        found[f"dds.sec.{part}.library.finalize"] = f"finalize_{name}"
    return found


def _read(dds: ctypes.CDLL, reader: int) -> None:
    number = ctypes.c_uint32()
    place = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(number), ctypes.c_void_p))
    about = (ctypes.c_uint8 * 256)()  # dds_sample_info_t, of which valid_data is byte 12
    while dds.dds_take(reader, place, about, ctypes.c_size_t(1), ctypes.c_uint32(1)) > 0:
        if about[12]:
            _say(str(number.value))


def _made(handle: int) -> int:
    if handle < 0:
        _say("not allowed" if handle == NOT_ALLOWED else f"error {handle}")
        sys.exit(1)
    return handle


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    main()
