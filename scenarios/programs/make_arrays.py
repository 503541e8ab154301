#!/usr/bin/env python3
"""Writes the arrays of the programs beside it: inputs of small whole numbers, and the products that must come out.

Everything is computed in Python's integers from the definition D[m, n] = sum over k of A[m, k] * B[n, k]; the tool has no part in it.
Run it in this folder after a change: the arrays are checked in."""
import struct

FORMATS = {"f16": ("<f2", "e"), "f32": ("<f4", "f"), "s8": ("|i1", "b"), "s32": ("<i4", "i")}


def save(name, dtype, shape, values):
    """A .npy file of format 1.0, rows first."""
    described, code = FORMATS[dtype]
    size = "(" + ", ".join(str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (described, size)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(values), code), *values))


def whole(count, a, b, span=9):
    """count small whole numbers around 0 that do not repeat by rows."""
    return [(a * i + b * (i // 16) + i // 37) % span - span // 2 for i in range(count)]


def product(a, b, m, n, k):
    """a: m rows of k, b: n rows of k."""
    return [sum(a[i * k + x] * b[j * k + x] for x in range(k)) for i in range(m) for j in range(n)]


def main():
    a, b = whole(128 * 16, 5, 3), whole(32 * 16, 7, 2)
    save("a_128x16.npy", "f16", (128, 16), a)
    save("b_32x16.npy", "f16", (32, 16), b)
    ab = product(a, b, 128, 32, 16)
    save("ab_128x32.npy", "f32", (128, 32), ab)
    save("ab_4x128x32.npy", "f32", (4, 128, 32), ab * 4)

    # Four tiles along M: each has its own A.
    tiles = whole(4 * 128 * 16, 4, 5)
    save("a_4x128x16.npy", "f16", (4, 128, 16), tiles)
    save("tiles_4x128x32.npy", "f32", (4, 128, 32), [x for t in range(4) for x in product(tiles[t * 2048:(t + 1) * 2048], b, 128, 32, 16)])

    # Four steps along K, twice: the tiles [t, k] of A and B.
    ak, bk = whole(2 * 4 * 128 * 16, 3, 5), whole(4 * 32 * 16, 5, 4)
    save("a_8x128x16.npy", "f16", (8, 128, 16), ak)
    save("b_4x32x16.npy", "f16", (4, 32, 16), bk)
    out = []
    for t in range(2):
        parts = [product(ak[(t * 4 + k) * 2048:(t * 4 + k + 1) * 2048], bk[k * 512:(k + 1) * 512], 128, 32, 16) for k in range(4)]
        out += [sum(each) for each in zip(*parts)]
    save("steps_2x128x32.npy", "f32", (2, 128, 32), out)

    # A pair: 256 rows of A, of which each CTA loads half, 32 rows of B likewise.
    pair = whole(256 * 16, 2, 7)
    save("a_2x128x16.npy", "f16", (2, 128, 16), pair)
    save("b_2x16x16.npy", "f16", (2, 16, 16), b)
    save("pair_2x128x32.npy", "f32", (2, 128, 32), product(pair, b, 256, 32, 16))

    # Two products one after the other: (P Q^T) R^T, in tf32.
    p, q, r = whole(128 * 8, 5, 3, 5), whole(8 * 8, 3, 1, 5), whole(16 * 8, 2, 3, 5)
    save("p_128x8.npy", "f32", (128, 8), p)
    save("q_8x8.npy", "f32", (8, 8), q)
    save("r_16x8.npy", "f32", (16, 8), r)
    save("pqr_128x16.npy", "f32", (128, 16), product(product(p, q, 128, 8, 8), r, 128, 16, 8))

    # Whole numbers of 8 bits, M = 64.
    i, j = whole(64 * 32, 11, 3, 251), whole(16 * 32, 13, 5, 251)
    save("i_64x32.npy", "s8", (64, 32), i)
    save("j_16x32.npy", "s8", (16, 32), j)
    save("ij_64x16.npy", "s32", (64, 16), product(i, j, 64, 16, 32))

    # tcgen05.shift: row r of a quadrant receives row r + 1, the last one keeps its own.
    rows = [100 * r + c for r in range(128) for c in range(8)]
    save("shifted_128x8.npy", "s32", (128, 8), [rows[8 * (r + 1 if r % 32 < 31 else r) + c] for r in range(128) for c in range(8)])


main()
