"""tests/bench/peer_scipy.py ROUNDS: BCa of the mean of the differences on stdin, 10,000 resamples, by scipy. Prints the least time in ms and the interval."""
import sys, time
import numpy, scipy
from scipy.stats import bootstrap

d = numpy.array([float(line) for line in sys.stdin])
best = 1e9
for i in range(int(sys.argv[1])):
    start = time.perf_counter()
    r = bootstrap((d,), numpy.mean, n_resamples=10000, method="BCa", vectorized=True, random_state=numpy.random.default_rng(i))
    best = min(best, (time.perf_counter() - start) * 1e3)
print(f"scipy {scipy.__version__} bootstrap BCa, the same differences: {best:.1f} ms  [{r.confidence_interval.low:.4f}, {r.confidence_interval.high:.4f}]")
