#!/usr/bin/env python3
"""Independent values for the estimators of the latency gate: python3 tests/data/latency_vectors.py > tests/data/latency_vectors.txt

Plain Python, exact integers for every probability; with numpy and scipy installed, `--check` compares this script with them.
Sets are drawn from SplitMix64 in counter form (streams latency/vectors/K), so only results are stored. One line a result:
  set K n ticks  q05 q25 q50 q95  order_lo order_hi  hl hl_lo hl_hi      ("-": undefined)
  rand K n processes orders p sign_p sign_p_median (1: control first)      bca K n z0 a lo hi plo phi      mbb K n lo hi
"""
import itertools, math, statistics, sys

MASK = (1 << 64) - 1

def mix(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31

def stream(label):
    h = 0xCBF29CE484222325
    for c in label.encode():
        h = ((h ^ c) * 0x100000001B3) & MASK
    return mix(h)

def u64(seed, i):
    return mix((seed + (i + 1) * 0x9E3779B97F4A7C15) & MASK)

def values(k, n, ticks):
    """n multiples of 1/ticks between -2 and 6: few ticks make ties."""
    s = stream(f"latency/vectors/{k}")
    return [(u64(s, i) * 8 * ticks >> 64) / ticks - 2.0 for i in range(n)]

def quantile(v, p):
    s = sorted(v)
    at = (len(s) - 1) * p
    i = math.floor(at)
    return s[-1] if i + 1 >= len(s) else s[i] + (at - i) * (s[i + 1] - s[i])

def order_interval(v):
    n, s, best = len(v), sorted(v), 0
    for l in range(1, n // 2 + 1):
        if 20 * sum(math.comb(n, i) for i in range(l, n - l + 1)) >= 19 * 2 ** n:
            best = l
    return (s[best - 1], s[n - best]) if best else ("-", "-")

def hodges_lehmann(v):
    n = len(v)
    walsh = sorted((v[i] + v[j]) / 2 for i in range(n) for j in range(i, n))
    ways = [1]                                   # subsets of {1..n} by their sum
    for i in range(1, n + 1):
        ways = [(ways[w] if w < len(ways) else 0) + (ways[w - i] if 0 <= w - i < len(ways) else 0) for w in range(len(ways) + i)]
    k = 0
    while 2 * 20 * sum(ways[:k + 1]) <= 2 ** n:
        k += 1
    return (quantile(walsh, 0.5),) + ((walsh[k - 1], walsh[len(walsh) - k]) if k else ("-", "-"))

def orders_of(k, n):
    """Half control first in each process, in an order that the set's number picks."""
    half = [True] * ((n + 1) // 2) + [False] * (n // 2)
    s = stream(f"latency/vectors/order/{k}")
    return [x for _, x in sorted(zip([u64(s, i) for i in range(n)], half))]

def randomisation(d, sizes, orders):
    total = hits = 0
    observed = abs(statistics.median(d))
    starts = list(itertools.accumulate([0] + sizes))
    choices = [list(itertools.combinations(range(a, b), sum(orders[a:b]))) for a, b in zip(starts, starts[1:])]
    for pick in itertools.product(*choices):
        first = set(itertools.chain(*pick))
        flipped = [x if (i in first) == orders[i] else -x for i, x in enumerate(d)]
        hits += abs(statistics.median(flipped)) >= observed * (1 - 1e-12)
        total += 1
    return hits / total

def sign_flip(d, of=sum):
    observed = abs(of(d)) * (1 - 1e-12)
    return sum(abs(of([s * x for s, x in zip(signs, d)])) >= observed for signs in itertools.product((1, -1), repeat=len(d))) / 2 ** len(d)

B = 1000

def bca(v):
    n, s = len(v), stream("latency/boot/1")
    sums = []
    for b in range(B):
        total = 0.0
        for j in range(n):
            total += v[u64(s, b * n + j) * n >> 64]
        sums.append(total)
    t = 0.0
    for x in v:
        t += x
    phi = statistics.NormalDist()
    z0 = phi.inv_cdf(sum(1.0 if x < t else 0.5 if x == t else 0.0 for x in sums) / B)
    jack = [(t - x) / (n - 1) for x in v]
    jm = math.fsum(jack) / n
    a = math.fsum((jm - j) ** 3 for j in jack) / (6 * math.fsum((jm - j) ** 2 for j in jack) ** 1.5)
    at = [phi.cdf(z0 + (z0 + phi.inv_cdf(q)) / (1 - a * (z0 + phi.inv_cdf(q)))) for q in (0.025, 0.975)]
    return (z0, a) + tuple(quantile(sums, q) / n for q in at + [0.025, 0.975])

def moving_blocks(v):
    n, s = len(v), stream("latency/mbb/1")
    length = -(-n // 6)
    k = -(-n // length)
    medians = []
    for b in range(B):
        sample = [v[((u64(s, b * k + t) * n >> 64) + j) % n] for t in range(k) for j in range(length)]
        medians.append(statistics.median(sample[:n]))
    return quantile(medians, 0.025), quantile(medians, 0.975)

def main():
    check = "--check" in sys.argv
    show = lambda *xs: print(*(x if isinstance(x, (str, int)) else repr(x + 0.0) for x in xs))
    for k in range(200):
        n, ticks = 1 + k % 50, (4, 64, 1 << 40)[k % 3]
        v = values(k, n, ticks)
        q = [quantile(v, p) for p in (0.05, 0.25, 0.5, 0.95)]
        show("set", k, n, ticks, *q, *order_interval(v), *hodges_lehmann(v))
        if check:
            import numpy, scipy.stats
            assert numpy.allclose(q, numpy.quantile(v, [0.05, 0.25, 0.5, 0.95]), atol=1e-12)
            if order_interval(v)[0] != "-":      # the tails on both sides, by scipy's binomial
                l = sorted(v).index(order_interval(v)[0]) + 1
                assert scipy.stats.binom.cdf(l - 1, n, 0.5) <= 0.5
    for k in range(40):
        sizes = [[4 + k % 9], [4, 4], [4, 4, 4], [6, 5]][k % 4]
        n = sum(sizes)
        d = values(1000 + k, n, 16 if k % 2 else 1 << 40)
        orders = [x for i, m in enumerate(sizes) for x in orders_of(100 * k + i, m)]
        show("rand", k, n, ",".join(map(str, sizes)), "".join(map(str, map(int, orders))), randomisation(d, sizes, orders), sign_flip(d), sign_flip(d, statistics.median))
        if check and n <= 10:
            import numpy, scipy.stats
            r = scipy.stats.permutation_test((numpy.array(d),), lambda x, axis: abs(x.mean(axis=axis)), permutation_type="samples", n_resamples=numpy.inf, vectorized=True, alternative="greater")
            assert abs(r.pvalue - sign_flip(d)) < 1e-9
    for k in range(12):
        v = values(2000 + k, 5 + 3 * k, 1 << 40)
        show("bca", k, len(v), *bca(v))
        show("mbb", k, len(v), *moving_blocks(v))

main()
