#!/usr/bin/env python3
"""Follows docs/add-an-operation.md: applies its blocks to a copy of the sources and compiles what lists operations.

Usage: follow_steps.py SOURCE_FOLDER COMPILER [FLAGS...]
A block says where it goes in its first line: file=PATH (a new file), file=PATH before="TEXT" or after="TEXT" (text that
stands there once). Leaving the executor (step 3) or the printer (step 4) out must be a compile error that says so.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ["ir", "sim", "emit", "lower"]
# Those that steps 4 and 3 are about come first: what is left out is seen there.
LISTERS = ["ir/kernel/print.cpp", "sim/exec/dispatch.cpp", "sim/exec/thread.cpp", "emit/cuda/dispatch.cpp", "emit/cuda/print_thread.cpp"]


def blocks(page: str):
    """(step, file, place, anchor, text) of every block that names a file."""
    step = 0
    lines = iter(page.split("\n"))
    for line in lines:
        heading = re.match(r"## (\d)\.", line)
        if heading:
            step = int(heading.group(1))
        opening = re.match(r'```cpp file=(\S+)(?: (before|after)="(.*)")?$', line)
        if not opening:
            continue
        text = []
        for inner in lines:
            if inner == "```":
                break
            text.append(inner)
        anchor = (opening.group(3) or "").replace('\\"', '"')
        yield step, opening.group(1), opening.group(2), anchor, "\n".join(text) + "\n"


def apply(root: pathlib.Path, page: str, left_out: int) -> int:
    applied = 0
    for step, file, place, anchor, text in blocks(page):
        if step == left_out:
            continue
        path = root / file
        if place is None:
            if path.exists():
                sys.exit(f"{file} exists already")
            path.write_text(text)
        else:
            before = path.read_text()
            if before.count(anchor) != 1:
                sys.exit(f"{file}: '{anchor}' stands there {before.count(anchor)} times, not once")
            path.write_text(before.replace(anchor, text + anchor if place == "before" else anchor + text))
        applied += 1
    return applied


def compiles(root: pathlib.Path, command) -> str:
    """Empty when every file compiles, otherwise what the compiler says."""
    for file in LISTERS:
        done = subprocess.run(command + ["-std=c++20", "-fsyntax-only", "-I", ".", file], cwd=root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            return done.stdout
    return ""


def main() -> None:
    source = pathlib.Path(sys.argv[1])
    command = sys.argv[2:]
    page = (source / "docs/add-an-operation.md").read_text()
    for left_out, expected in [(0, None), (3, "operation without executor"), (4, "lacks print")]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in FOLDERS:
                shutil.copytree(source / name, root / name)
            if apply(root, page, left_out) < 5:
                sys.exit("the page has fewer blocks than steps")
            said = compiles(root, command)
        if expected is None and said:
            sys.exit("following the page does not compile:\n" + said)
        if expected is not None and expected not in said:
            sys.exit(f"leaving step {left_out} out is not reported as '{expected}':\n{said or 'it compiles'}")
    print("followed: five steps, and the compiler asks for what is left out")


if __name__ == "__main__":
    main()
