/* gates/latency/dist.c: Student's t, chi-square and binomial tails through the incomplete beta and gamma functions. */
#include "latency.h"
#include <math.h>

/* Continued fraction of the incomplete beta function, modified Lentz. */
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    if (fabs(d) < tiny) d = tiny;
    d = 1.0 / d;
    double h = d;
    for (int i = 1; i <= 10000; i++) {
        double k = i, even = k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k));
        d = 1.0 + even * d;
        c = 1.0 + even / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        if (fabs(c) < tiny) c = tiny;
        h *= d * c;
        double odd = -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0));
        d = 1.0 + odd * d;
        c = 1.0 + odd / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        if (fabs(c) < tiny) c = tiny;
        double step = d * c;
        h *= step;
        if (fabs(step - 1.0) < 1e-16) break;
    }
    return h;
}

/* Regularised incomplete beta I_x(a, b). */
static double beta_inc(const assay_math_1 *m, double a, double b, double x) {
    if (!(x > 0.0)) return 0.0;
    if (!(x < 1.0)) return 1.0;
    double front = m->exp(m->lgamma(a + b) - m->lgamma(a) - m->lgamma(b) + a * m->log(x) + b * m->log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double lat_t_two_sided(const assay_math_1 *m, double t, double df) {
    if (!(df > 0.0) || isnan(t)) return NAN;
    if (isinf(t)) return 0.0;
    return beta_inc(m, df / 2.0, 0.5, df / (df + t * t));
}

/* Bisection on the two-sided tail, which is exact to the last bits and needs no starting guess. */
double lat_t_quantile(const assay_math_1 *m, double p, double df) {
    if (!(p > 0.0 && p < 1.0) || !(df > 0.0)) return NAN;
    if (p == 0.5) return 0.0;
    double tail = p > 0.5 ? 2.0 * (1.0 - p) : 2.0 * p, lo = 0.0, hi = 1.0;
    while (lat_t_two_sided(m, hi, df) > tail && hi < 1e300) hi *= 2.0;
    for (int i = 0; i < 200; i++) {
        double mid = lo + (hi - lo) / 2.0;
        if (mid == lo || mid == hi) break;
        if (lat_t_two_sided(m, mid, df) > tail) lo = mid;
        else hi = mid;
    }
    return p > 0.5 ? hi : -hi;
}

double lat_chi2_upper(const assay_math_1 *m, double x, double df) {
    double a = df / 2.0, y = x / 2.0;
    if (!(df > 0.0) || isnan(x)) return NAN;
    if (!(y > 0.0)) return 1.0;
    double front = m->exp(a * m->log(y) - y - m->lgamma(a));
    if (y < a + 1.0) {
        double term = 1.0 / a, sum = term;
        for (int i = 1; i < 100000 && term > sum * 1e-17; i++) sum += term *= y / (a + i);
        return 1.0 - front * sum;
    }
    const double tiny = 1e-300;
    double b = y + 1.0 - a, c = 1.0 / tiny, d = 1.0 / b, h = d;
    for (int i = 1; i < 100000; i++) {
        double an = -(double)i * (i - a);
        b += 2.0;
        d = an * d + b;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = b + an / c;
        if (fabs(c) < tiny) c = tiny;
        double step = d * c;
        h *= step;
        if (fabs(step - 1.0) < 1e-16) break;
    }
    return front * h;
}

lat_binomial lat_binomial_start(const assay_math_1 *m, size_t n, double p) {
    lat_binomial b = { .n = n, .p = p };
    b.exact = p == 0.5 && n <= 1000;             /* exact powers of two times integers below 2^53 for small n */
    b.term = ldexp(1.0, -(int)(b.exact ? n : 0));
    if (!b.exact) b.log_all = m->lgamma((double)n + 1.0), b.log_p = m->log(p), b.log_q = m->log1p(-p);
    return b;
}

double lat_binomial_next(const assay_math_1 *m, lat_binomial *b) {
    double k = (double)b->l, rest = (double)(b->n - b->l);
    if (!b->exact) b->term = m->exp(b->log_all - m->lgamma(k + 1.0) - m->lgamma(rest + 1.0) + k * b->log_p + rest * b->log_q);
    b->below += b->term;
    if (b->exact) b->term = b->term * rest / (k + 1.0);
    b->l++;
    return b->below < 1.0 ? b->below : 1.0;
}
