from mpmath import mp, mpf, floor, log, atan, sqrt, erfc, exp, pi, cos, fac, zeta, euler, bernoulli
mp.prec = 1600
def hx(v): return float(v).hex() if float(v)!=0 else '0.0'
def dd(v):
    h = float(v); return h, float(v - mpf(h))
def cut(v, bits):
    s = 2**(bits - 1 - int(mp.floor(mp.log(abs(v), 2)))); return mpf(int(mp.floor(v * s))) / s
out = []
w = out.append
w('/* base/fmath_tables.h: constants of the elementary functions, from 1600-bit arithmetic (tests/data/fmath_tables.py writes this file). */')
w('#ifndef ASSAY_BASE_FMATH_TABLES_H\n#define ASSAY_BASE_FMATH_TABLES_H\n#include <stdint.h>\n')
ln2 = log(mpf(2))
c1 = cut(ln2/64, 36); c2 = cut(ln2/64 - c1, 36); c3 = ln2/64 - c1 - c2
w('/* ln 2 / 64 in three parts; a whole number below 2^17 times each of the first two is exact. */')
w(f'static const double LN2_64_1 = {hx(c1)}, LN2_64_2 = {hx(c2)}, LN2_64_3 = {hx(c3)};')
h = cut(ln2, 42); l = ln2 - h
w('/* ln 2 = high part of 42 bits + rest; 1/ln 2, 1/ln 10, pi/2, 2/sqrt(pi), sqrt(1/2), ln sqrt(2 pi), 1 - Euler gamma as sums of two doubles. */')
w(f'static const double LN2_H = {hx(h)}, LN2_L = {hx(l)};')
for name, v in (('INV_LN2', 1/ln2), ('INV_LN10', 1/log(mpf(10))), ('HALF_PI', pi/2), ('TWO_SQRT_PI', 2/sqrt(pi)), ('SQRT_HALF', sqrt(mpf(1)/2)), ('LN_SQRT_2PI', log(2*pi)/2), ('ONE_MINUS_GAMMA', 1-euler)):
    a, b = dd(v); w(f'static const dd {name} = {{ {hx(a)}, {hx(b)} }};')
w('\n/* 2^(j/64), j = 0..63. */\nstatic const dd EXP2_64[64] = {')
for j in range(64):
    a, b = dd(mpf(2)**(mpf(j)/64)); w(f'    {{ {hx(a)}, {hx(b)} }},')
w('};\n\n/* For m in [1+i/128, 1+(i+1)/128): c near 1/m (near 2/m from i = 53 on) with 9 bits after the point, and -ln c. */')
w('static const struct { double c; dd minus_log; } LOG_128[128] = {')
for i in range(128):
    center = (mpf(1) + (2*i+1)/mpf(256)) / (2 if i >= 53 else 1)
    c = mp.nint(512/center)/512
    if i in (0, 127): c = mpf(1)
    a, b = dd(-log(c)) if c != 1 else (0.0, 0.0)
    w(f'    {{ {hx(c)}, {{ {hx(a)}, {hx(b)} }} }},')
w('};\n\n/* atan(i/64), i = 0..64. */\nstatic const dd ATAN_64[65] = {')
for i in range(65):
    a, b = dd(atan(mpf(i)/64)); w(f'    {{ {hx(a)}, {hx(b)} }},')
w('};\n\n/* 64 zero bits, then the first 1280 bits of 2/pi. */\nstatic const uint64_t TWO_OVER_PI[21] = {\n    0x0000000000000000u,')
v = int(mp.floor(2/pi * mpf(2)**1280))
for i in range(20): w(f'    0x{(v >> (64*(19-i))) & (2**64-1):016x}u,')
w('};\n')
# Chebyshev of F(t) = (1+2x) exp(x^2) erfc(x), t = (x-K)/(x+K)
mp.prec = 300
K = mpf(15)/4
def F(t):
    if t >= 1 - mpf(10)**-60: return 2/sqrt(pi)
    x = K*(1+t)/(1-t)
    if x > 60:   # asymptotic of erfcx
        s = mpf(1); term = mpf(1)
        for n in range(1, 60):
            term *= -(2*n-1)/(2*x*x)
            if abs(term) < mpf(10)**-50: break
            s += term
        g = s/(x*sqrt(pi))
    else: g = exp(x*x)*erfc(x)
    return (1+2*x)*g
N = 100
nodes = [cos(pi*(k+mpf(1)/2)/N) for k in range(N)]
vals = [F(t) for t in nodes]
coef = [2/mpf(N)*sum(vals[k]*cos(pi*j*(k+mpf(1)/2)/N) for k in range(N)) for j in range(48)]
coef[0] /= 2
deg = max(j for j in range(48) if abs(coef[j]) > mpf(10)**-19)
import sys; print(deg, [float(c) for c in coef[:6]], file=sys.stderr)
a, b = dd(coef[0])
w('/* Chebyshev coefficients of (1+2x) exp(x^2) erfc(x) over t = (x-3.75)/(x+3.75), x >= 0; the first as two doubles. */')
w(f'static const dd ERFC_C0 = {{ {hx(a)}, {hx(b)} }};')
w(f'enum {{ ERFC_TERMS = {deg} }};')
w('static const dd ERFC_C[ERFC_TERMS] = {   /* from degree 1; the low parts are used for the first few */')
for j in range(1, deg+1):
    a, b = dd(coef[j]); w(f'    {{ {hx(a)}, {hx(b)} }},')
w('};\n\n/* erf about the middle of [i/16, (i+1)/16), i = 8..95: value, then Taylor coefficients 1..9. */')
w('static const struct { dd value; double c[9]; } ERF_16[88] = {')
for i in range(8, 96):
    c = (mpf(i)+mpf(1)/2)/16
    from mpmath import erf as merf
    b_ = [mpf(1), -2*c]
    for n in range(1, 10): b_.append((-2*c*b_[n] - 2*b_[n-1])/(n+1))
    e = 2/sqrt(pi)*exp(-c*c)
    a, b = dd(merf(c))
    w(f'    {{ {{ {hx(a)}, {hx(b)} }}, {{ ' + ', '.join(hx(e*b_[n]/(n+1)) for n in range(9)) + ' } },')
w('};\n\n/* (zeta(k) - 1)/k with the sign of (-1)^k, k = 2..: ln Gamma(2+z) = (1-gamma) z + sum of these times z^k. */')
T = []
k = 2
while (zeta(k)-1)/k * mpf(2)**-k > mpf(10)**-20 or k < 3: T.append((-1)**k*(zeta(k)-1)/k); k += 1
a, b = dd(T[0]); w(f'static const dd LGAMMA_2_FIRST = {{ {hx(a)}, {hx(b)} }};')
w(f'enum {{ LGAMMA_TERMS = {len(T)-1} }};\nstatic const double LGAMMA_2[LGAMMA_TERMS] = {{')
for t in T[1:]: w(f'    {hx(t)},')
w('};\n\n/* Stirling: B(2k)/(2k(2k-1)), k = 1..10. */\nstatic const double STIRLING[10] = {')
for k in range(1, 11): w(f'    {hx(bernoulli(2*k)/(2*k*(2*k-1)))},')
w('};\n#endif')
open(sys.argv[1], 'w').write('\n'.join(out) + '\n')
