# SPDX-License-Identifier: Apache-2.0
"""The policy of SROS2, and keys and permissions of it: what `ros2 security` makes, with the program openssl."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ElementTree
from fnmatch import fnmatchcase
from pathlib import Path
from xml.sax.saxutils import escape

from ada_dynamics import resources

ENCLAVE = "/ada_dynamics/{}"
_SPAN = "<validity><not_before>2020-01-01T00:00:00</not_before><not_after>2120-01-01T00:00:00</not_after></validity>"
_PROTECTED = ("discovery", "liveliness", "rtps")
RULES = {  # attribute of a list: what a node may do with its names
    "topics": ("publish", "subscribe"),
    "services": ("reply", "request"),
}


def path() -> Path:
    return resources.find("config", "sros2/policy.xml")


def profiles() -> dict[str, ElementTree.Element]:
    found = ElementTree.parse(path()).getroot().iter("profile")
    return {profile.attrib["node"]: profile for profile in found}


def allowed(node: str, rule: str) -> list[str]:
    """Full names, or patterns of them, under a rule: "publish", "subscribe", "reply" or "request"."""
    profile = profiles()[node]
    names = [(one.text or "").strip() for part in profile if part.attrib.get(rule) == "ALLOW" for one in part]
    above = profile.attrib["ns"].rstrip("/")
    return [name if name[0] == "/" else f"{above}/{name.replace('~', node, 1)}" for name in names]


def refused(node: str, rule: str, names: set[str]) -> set[str]:
    """Those of some names that the policy does not allow."""
    patterns = allowed(node, rule)
    return {name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)}


def unused(node: str, rule: str, names: set[str]) -> set[str]:
    return {pattern for pattern in allowed(node, rule) if not any(fnmatchcase(name, pattern) for name in names)}


class Authority:
    """What signs: whoever has it says who takes part, and what each may do."""

    def __init__(self, folder: Path, domain: int) -> None:
        """Write keys and rules for a DDS domain into a new folder."""
        self._folder, self._domain = folder, domain
        folder.mkdir()
        self._key(folder / "ca.key")
        self._openssl(
            "req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=sros2CA", "-days", "365", "-out", "ca.pem"
        )
        self._sign("governance", self._governance())

    def keys_of(self, node: str) -> dict[str, str]:
        """Properties of a participant with the identity of a node and the permissions that the policy gives it."""
        name = ENCLAVE.format(node)
        self._key(self._folder / f"{node}.key")
        subject = "/CN=" + name.replace("/", "\\/")
        self._openssl("req", "-new", "-key", f"{node}.key", "-subj", subject, "-out", f"{node}.csr")
        self._openssl(
            *("x509", "-req", "-in", f"{node}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "365", "-out", f"{node}.pem"),
        )
        self._sign(node, self._permissions(node))
        files = {
            "auth.identity_ca": "ca.pem",
            "auth.private_key": f"{node}.key",
            "auth.identity_certificate": f"{node}.pem",
            "access.permissions_ca": "ca.pem",
            "access.governance": "governance.p7s",
            "access.permissions": f"{node}.p7s",
        }
        return {f"dds.sec.{what}": f"file:{self._folder / file}" for what, file in files.items()}

    def _permissions(self, node: str) -> str:
        writes, reads = topics_of(node)
        rules = "".join(
            f"<{rule}><topics>{''.join(f'<topic>{escape(name)}</topic>' for name in names)}</topics></{rule}>"
            for rule, names in (("publish", writes), ("subscribe", reads))
        )
        name = ENCLAVE.format(node)
        return (
            f"<dds><permissions><grant name='{name}'><subject_name>CN={name}</subject_name>{_SPAN}<allow_rule><domains>"
            f"<id>{self._domain}</id></domains>{rules}</allow_rule><default>DENY</default></grant></permissions></dds>"
        )

    def _governance(self) -> str:
        kinds = "".join(f"<{what}_protection_kind>ENCRYPT</{what}_protection_kind>" for what in _PROTECTED)
        topics = (
            "<topic_rule><topic_expression>*</topic_expression><enable_discovery_protection>true"
            "</enable_discovery_protection><enable_liveliness_protection>true</enable_liveliness_protection>"
            "<enable_read_access_control>true</enable_read_access_control><enable_write_access_control>true"
            "</enable_write_access_control><metadata_protection_kind>ENCRYPT</metadata_protection_kind>"
            "<data_protection_kind>ENCRYPT</data_protection_kind></topic_rule>"
        )
        return (
            f"<dds><domain_access_rules><domain_rule><domains><id>{self._domain}</id></domains>"
            "<allow_unauthenticated_participants>false</allow_unauthenticated_participants><enable_join_access_control>"
            f"true</enable_join_access_control>{kinds}<topic_access_rules>{topics}</topic_access_rules></domain_rule>"
            "</domain_access_rules></dds>"
        )

    def _key(self, path: Path) -> None:
        self._openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path.name)

    def _sign(self, name: str, document: str) -> None:
        (self._folder / f"{name}.xml").write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n')
        signer = ("-signer", "ca.pem", "-inkey", "ca.key")
        self._openssl("smime", "-sign", "-text", "-in", f"{name}.xml", *signer, "-out", f"{name}.p7s")

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True, timeout=60)


def topics_of(node: str) -> tuple[list[str], list[str]]:
    """DDS topics that a node may write and read: ROS 2 has its topics under rt, services under rq and rr."""
    of = {rule: allowed(node, rule) for rule in ("publish", "subscribe", "reply", "request")}
    asked, answered = (
        [f"{way}{name}" for name in names] for way, names in (("rq", of["request"]), ("rr", of["reply"]))
    )
    writes = [f"rt{name}" for name in of["publish"]]
    writes += [f"{name}Request" for name in asked] + [f"{name}Reply" for name in answered]
    reads = [f"rt{name}" for name in of["subscribe"]]
    reads += [f"rr{name}Reply" for name in of["request"]] + [f"rq{name}Request" for name in of["reply"]]
    return ["ros_discovery_info", *writes], ["ros_discovery_info", *reads]
