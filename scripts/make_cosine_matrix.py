#!/usr/bin/env python3
"""Writes the 128-point cosine transform (DCT-II, orthonormal) as a 128 x 128 f16 .npy file.

Row k, column n holds  s(k) * cos(pi * (2n + 1) * k / 256),  s(0) = sqrt(1/128), s(k) = sqrt(2/128).
Usage: scripts/make_cosine_matrix.py [scenarios/lessons/cosine_128.npy]
"""
import math
import struct
import sys

POINTS = 128


def entry(k: int, n: int) -> float:
    scale = math.sqrt((1.0 if k == 0 else 2.0) / POINTS)
    return scale * math.cos(math.pi * (2 * n + 1) * k / (2 * POINTS))


def npy_header(shape: tuple) -> bytes:
    text = "{'descr': '<f2', 'fortran_order': False, 'shape': %s, }" % (shape,)
    padding = -(len(text) + 11) % 64
    text += " " * padding + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("ascii")


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "scenarios/lessons/cosine_128.npy"
    values = [entry(k, n) for k in range(POINTS) for n in range(POINTS)]
    with open(path, "wb") as out:
        out.write(npy_header((POINTS, POINTS)))
        out.write(struct.pack("<%de" % len(values), *values))


if __name__ == "__main__":
    main()
