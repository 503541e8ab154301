#!/usr/bin/env python3
"""validate_scenarios.py SCHEMA.json FOLDER: every scenario below FOLDER fits the schema, and no longer does when one of its
keys or operation names has a typo. Exits 0, 1 with the reasons, or 77 when PyYAML or jsonschema (4 or later) is missing."""

import copy
import json
import pathlib
import sys

try:
    import yaml
    from jsonschema import Draft202012Validator
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Below these, keys are names that the author chooses.
FREE_NAMES = {("params",), ("buffers",)}


def mappings(tree, path=()):
    """Every mapping of the tree with its path."""
    if isinstance(tree, dict):
        yield path, tree
        for key, value in tree.items():
            yield from mappings(value, path + (key,))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from mappings(value, path + (index,))


def at(tree, path):
    for step in path:
        tree = tree[step]
    return tree


def typos(tree, seen):
    """(what, damaged tree) for each key and operation name that no earlier scenario had in such a place."""
    for path, mapping in mappings(tree):
        for key in mapping:
            place = (path[:1], mapping.get("do", mapping.get("space")), key)
            if path not in FREE_NAMES and place not in seen:
                seen.add(place)
                damaged = copy.deepcopy(tree)
                renamed = at(damaged, path)
                renamed[key + "s_"] = renamed.pop(key)
                yield f"{path} key {key}", damaged
        if "do" in mapping and mapping["do"] not in seen:
            seen.add(mapping["do"])
            damaged = copy.deepcopy(tree)
            at(damaged, path)["do"] += "x"
            yield f"{path} do {mapping['do']}", damaged


def main():
    validator = Draft202012Validator(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
    Draft202012Validator.check_schema(validator.schema)
    files = sorted(pathlib.Path(sys.argv[2]).rglob("*.yaml"))
    wrong = [] if files else [f"no scenario below {sys.argv[2]}"]
    damaged_count = 0
    seen = set()
    for file in files:
        tree = yaml.safe_load(file.read_text(encoding="utf-8"))
        wrong += [f"{file}: {list(error.absolute_path)}: {error.message[:200]}" for error in validator.iter_errors(tree)]
        for what, damaged in typos(tree, seen):
            damaged_count += 1
            if validator.is_valid(damaged):
                wrong.append(f"{file}: accepted with a typo: {what}")
    print("\n".join(wrong))
    print(f"{len(files)} scenarios, {damaged_count} typos, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
