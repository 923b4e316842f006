#!/usr/bin/env python3
"""documented.py XML: counts the public names of the headers in Doxygen's XML, and those that have a description. Ends
with 1 and a list if one has none. Deleted and defaulted functions and destructors need none."""
import sys
import xml.etree.ElementTree as tree
from pathlib import Path


def text(node):
    return "".join("".join(part.itertext()) for tag in ("briefdescription", "detaileddescription")
                   for part in node.findall(tag)).strip()


names, missing = set(), set()


def count(name, node):
    names.add(name)
    if not text(node):
        missing.add(name)


for path in Path(sys.argv[1]).glob("*.xml"):
    for compound in tree.parse(path).getroot().iter("compounddef"):
        kind, whole = compound.get("kind"), compound.findtext("compoundname")
        if compound.get("prot", "public") != "public" or kind in ("dir", "page") or "detail" in whole or whole.endswith(".dox"):
            continue
        if kind in ("class", "struct", "union", "namespace", "file") and not whole.startswith("std"):
            count(whole, compound)
        for member in compound.iter("memberdef"):
            name = f"{whole}::{member.findtext('name')}{member.findtext('argsstring') or ''}"
            given = (member.findtext("argsstring") or "").endswith(("=delete", "=default"))
            # The words of an opaque object, and members of an unnamed union, are not public in fact.
            inside = member.findtext("name") in ("words", "pointers") or "::m_" in name
            if member.get("prot") != "public" or member.get("kind") == "friend" or given or inside or "~" in name:
                continue
            count(name, member)
            for value in member.findall("enumvalue"):
                count(f"{name}::{value.findtext('name')}", value)
for name in sorted(missing):
    print(f"not documented: {name}")
print(f"reference: {len(names) - len(missing)} of {len(names)} public names are documented")
sys.exit(1 if missing or not names else 0)
