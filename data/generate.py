#!/usr/bin/env python3
"""Writes resource-types.tsv from resource-types.json.

The program looks types up in the table where it lies, by binary search: parsing the JSON at every
start would take longer than most comparisons. Run without arguments after changing the JSON.

One type per line, sorted by bytes, fields separated by tabs, properties by commas:
type, primary identifier, create-only, conditionally create-only, read-only, write-only,
handlers (c r u d l), tag property, deprecated, replacement strategy, additional identifiers (each
a group of properties, groups separated by semicolons). The first line names the source.
"""
import json
import pathlib

here = pathlib.Path(__file__).parent
data = json.loads((here / "resource-types.json").read_text())
lines = ["# " + data["source"]]
for name, info in sorted(data["types"].items(), key=lambda item: item[0].encode()):
    properties = [",".join(info.get(key, [])) for key in "pcxrw"]
    rest = [info["h"], info.get("t", ""), ",".join(info.get("d", [])), info.get("s", "")]
    groups = ";".join(",".join(group) for group in info.get("ai", []))
    fields = [name, *properties, *rest, groups]
    assert not any("\t" in field or "\n" in field or not field.isascii() for field in fields), name
    lines.append("\t".join(fields))
(here / "resource-types.tsv").write_text("\n".join(lines) + "\n")
