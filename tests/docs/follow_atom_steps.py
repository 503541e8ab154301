#!/usr/bin/env python3
"""Follows docs/add-an-atom.md: applies its blocks to a copy of the sources and verifies the atom that they add.

Usage: follow_atom_steps.py SOURCE_FOLDER COMPILER LIBRARY [FLAGS...]
LIBRARY is the built library of ir. A mistake in the row must be found, by the instruction where the shape rules cannot see it.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is written into the sources
from follow_steps import apply

PROGRAM = """
#include <cstdio>
#include "ir/atom/registry.hpp"
#include "ir/atom/verify.hpp"
int main() {
  using namespace tmemsim::atom;
  const auto found = atom_named("movmatrix.m8n8.trans.b16");
  if (!found) return std::puts("not found"), 0;
  bool listed = false;
  for (const PayloadRef& atom : all_atoms()) listed = listed || atom->name == (*found)->name;
  std::printf("%s, ground truth: %s\\n", listed ? "listed" : "not listed", (*found)->executor ? "yes" : "none");
  for (const Problem& problem : verify(**found)) std::printf("wrong: %s\\n", problem.rule.c_str());
}
"""

# (what changes in the row, the step that is left out, what the program says)
RIGHT = "listed, ground truth: yes\n"
CASES = [
    (None, 0, RIGHT),
    (None, 2, "listed, ground truth: none\n"),
    (("{{4, 256}, {8, 16}}, {{16, 1}, {2, 128}}", "{{4, 32}, {8, 128}}, {{16, 1}, {2, 16}}"), 0, RIGHT + "wrong: ground truth\n"),
]


def run(root: pathlib.Path, compiler: str, library: str, flags) -> str:
    (root / "main.cpp").write_text(PROGRAM)
    command = [compiler, "-std=c++20", *flags, "-I", ".", "main.cpp", "ir/atom/ptx_movmatrix.cpp", "ir/atom/registry.cpp", library, "-lfmt", "-o", "program"]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        return "does not compile:\n" + done.stdout
    return subprocess.run(["./program"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


def main() -> None:
    source, compiler, library = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    page = (source / "docs/add-an-atom.md").read_text()
    for change, left_out, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(source / "ir", root / "ir")
            if apply(root, page, left_out) < 4:
                sys.exit("the page has fewer blocks than steps")
            row = root / "ir/atom/ptx_movmatrix.cpp"
            if change:
                if row.read_text().count(change[0]) != 1:
                    sys.exit(f"the row does not have '{change[0]}'")
                row.write_text(row.read_text().replace(*change))
            said = run(root, compiler, library, sys.argv[4:])
        if said != expected:
            sys.exit(f"expected: {expected}found: {said}")
    print("followed: five steps, and a mistake in the row is found")


if __name__ == "__main__":
    main()
