"""Writes tests/unit/fmath_vectors.h: arguments and values of the elementary functions from 400-bit arithmetic (mpmath).
Run: python3 tests/data/fmath_vectors.py tests/unit/fmath_vectors.h. The values are stored so that the tests need no Python."""
import random
import struct
import sys

from mpmath import mp, mpf

mp.prec = 400
random.seed(20260101)


def number(v):
    return float(v).hex() if v else "0.0"


def pair(v):
    high = float(v)
    return high, float(v - mpf(high))


def spread(low, high, n):
    return [random.uniform(low, high) for _ in range(n)]


def scales(low, high, n, signs=(1, -1)):
    return [random.choice(signs) * 2.0 ** random.uniform(low, high) for _ in range(n)]


def quantile(p):
    """Newton for the logarithm of the smaller tail, where nothing cancels."""
    p = mpf(p)
    return -lower_quantile(1 - p) if p > mpf(1) / 2 else lower_quantile(p)


def lower_quantile(p):
    z = -mp.sqrt(-2 * mp.log(p))
    for _ in range(60):
        tail, density = mp.erfc(-z / mp.sqrt(2)) / 2, mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
        z -= mp.log(tail / p) * tail / density
    return z


LARGE = [2.0**k * m for k, m in ((20, 1.1), (40, 1.3), (100, 1.7), (300, 1.01), (700, 1.9), (1023, 1.99))]
# The double nearest to a multiple of pi/2, relative to its size (Kahan and McDonald); and neighbours of pi/2, pi.
WORST = [float.fromhex("0x1.6ac5b262ca1ffp+849"), 1.5707963267948966, 3.141592653589793, 6.283185307179586, 0.7853981633974483, 0.7853981633974482]

CASES = {
    "exp": (mp.exp, spread(-745, 709.7, 25) + scales(-50, 5, 15) + [1.0, -1.0, 0.5, 709.78, -708.5, -740.0]),
    "expm1": (mp.expm1, spread(-40, 60, 15) + scales(-52, 1, 25) + [700.0, -1e-3, 0.0054, 0.00541]),
    "log": (mp.log, scales(-1070, 1023, 20, (1,)) + spread(0.9, 1.1, 20) + [2.0, 10.0, 0.7071067811865475, 1.4140625, 0.9999999999999999, 1.0000000000000002]),
    "log1p": (mp.log1p, spread(-0.99, 3, 20) + scales(-52, -1, 20) + [1e300, 1e-20]),
    "log2": (lambda x: mp.log(x, 2), scales(-1070, 1023, 20, (1,)) + spread(0.9, 1.1, 15) + [8.0, 3.0, 5e-324]),
    "log10": (mp.log10, scales(-1070, 1023, 20, (1,)) + spread(0.9, 1.1, 15) + [1000.0, 1e22, 2.0, 1e-10]),
    "sin": (mp.sin, spread(-10, 10, 20) + scales(-26, 20, 15) + LARGE + WORST),
    "cos": (mp.cos, spread(-10, 10, 20) + scales(-26, 20, 15) + LARGE + WORST),
    "tan": (mp.tan, spread(-10, 10, 20) + scales(-26, 20, 15) + LARGE + WORST),
    "asin": (mp.asin, spread(-1, 1, 20) + scales(-26, 0, 10) + [1.0, -1.0, 0.9999999999999999, 0.5]),
    "acos": (mp.acos, spread(-1, 1, 20) + scales(-26, 0, 10) + [-1.0, 0.9999999999999999, -0.9999999999999999, 0.5]),
    "atan": (mp.atan, spread(-3, 3, 20) + scales(-26, 60, 20) + [1.0, 0.0078125, 0.00781251]),
    "sinh": (mp.sinh, spread(-30, 30, 15) + scales(-27, 9.4, 20) + [710.4, 0.0054]),
    "cosh": (mp.cosh, spread(-30, 30, 15) + scales(-20, 9.4, 20) + [710.4, 22.0]),
    "tanh": (mp.tanh, spread(-5, 5, 20) + scales(-27, 4, 20) + [19.0, 0.0027]),
    "erf": (mp.erf, spread(-6, 6, 30) + scales(-60, 0, 15) + [0.5, 0.49999999999999994, 5.9999, 0.5625, 1e-200]),
    "erfc": (mp.erfc, spread(-6, 27, 30) + spread(0.3, 0.7, 15) + [0.5, 26.5, 1e-10, -1e-10]),
    "lgamma": (mp.loggamma, spread(0.01, 3, 25) + spread(3, 14, 10) + scales(-60, 900, 15, (1,)) + [0.5, 1.0000001, 1.9999999, 2.5, 12.0, 1.4616321449683622]),
    "normal_cdf": (lambda x: mp.erfc(-mpf(x) / mp.sqrt(2)) / 2, spread(-38, 8, 25) + spread(-2, 2, 20) + [1e-10, -37.5]),
    "normal_quantile": (quantile, spread(0, 1, 25) + scales(-80, -1, 15, (1,)) + [0.25, 0.75, 0.975, 0.4999999, 0.5000000000000001, 0.2, 1e-300]),
}

POW = [(random.uniform(0.01, 50), random.uniform(-100, 100)) for _ in range(25)]
POW += [(1 + random.uniform(-1, 1) * 2.0**-k, random.uniform(-1, 1) * 2.0 ** min(k + 8, 52)) for k in range(2, 45, 2)]
POW += [(10.0, 22.0), (10.0, -5.0), (2.0, 0.5), (-3.0, 5.0), (-2.0, 4.0), (5e-324, 0.5), (1e-310, 0.9), (1.7e308, 0.999)]
ATAN2 = [(random.uniform(-5, 5), random.uniform(-5, 5)) for _ in range(20)]
ATAN2 += [(a, b) for a in (1e-300, 1e300, -2.5) for b in (1e300, -1e300, 3.0, -1e-300)] + [(1.0, 1.0), (-1.0, -1.0), (1e-5, -1.0)]


def rows(name, triples):
    out = [f"static const vector {name}_vectors[] = {{"]
    for x, y, v in triples:
        high, low = pair(v)
        out.append(f"    {{ {number(x)}, {number(y)}, {number(high)}, {number(low)} }},")
    return out + ["};"]


lines = [
    "/* Values of the elementary functions to about 106 bits, made by tests/data/fmath_vectors.py: argument, second argument (or 0),",
    " * value and the rest of the value. */",
    "#ifndef ASSAY_TEST_FMATH_VECTORS_H",
    "#define ASSAY_TEST_FMATH_VECTORS_H",
    "typedef struct vector { double x, y, value, rest; } vector;",
]
for name, (f, xs) in CASES.items():
    lines += rows(name, [(x, 0.0, f(mpf(x))) for x in xs])
lines += rows("pow", [(x, y, mp.power(mpf(x), mpf(y))) for x, y in POW])
lines += rows("atan2", [(y, x, mp.atan2(mpf(y), mpf(x))) for y, x in ATAN2])
lines += ["#endif"]
open(sys.argv[1], "w").write("\n".join(lines) + "\n")
