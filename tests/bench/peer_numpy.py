"""The same figures by numpy, in chunks of 64 Ki elements widened to float64: peer_numpy.py [ROUNDS]. Prints medians in ms."""
import statistics
import sys
import time

import numpy

PAIRS, CHUNK = 2 * 20 * 39062 * 64, 1 << 16


def figures(ref, cand):
    """Finite counts, zero share, cosine, gain, rel_l2, SNR, PSNR, max-abs with index and energy share."""
    total = numpy.zeros(6)
    peak = far = 0.0
    finite = zeros = at = 0
    for start in range(0, PAIRS, CHUNK):
        r = ref[start:start + CHUNK].astype(numpy.float64)
        c = cand[start:start + CHUNK].astype(numpy.float64)
        d = c - r
        finite += numpy.isfinite(r).sum() + numpy.isfinite(c).sum()
        zeros += c.size - numpy.count_nonzero(c)
        total += (r.sum(), c.sum(), r @ r, c @ c, r @ c, d @ d)
        size = numpy.abs(d)
        if size.max() > far:
            far, at = size.max(), start + int(size.argmax())
        peak = max(peak, numpy.abs(r).max())
    rr, cc, rc, dd = total[2:]
    return finite, zeros, rc / numpy.sqrt(rr * cc), rc / rr, numpy.sqrt(dd / rr), far, at, peak * peak / rr


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    ref = (numpy.arange(PAIRS, dtype=numpy.uint32) % 65521).astype(numpy.float32) / 32768 - 1
    for name in ("float32", "float16"):
        a, b = ref.astype(name), (ref * (1 + 2.0 ** -12)).astype(name)
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            figures(a, b)
            times.append(1e3 * (time.perf_counter() - start))
        print(f"numpy {numpy.__version__}, {name}, {PAIRS} pairs in 64 Ki chunks: {statistics.median(times):.1f} ms")


main()
