# SPDX-License-Identifier: MIT
# What bench/pgo trains Python on: arithmetic, lists, dictionaries, strings.
import math
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def primes(n):
    sieve = bytearray([1]) * (n + 1)
    for i in range(2, int(n ** .5) + 1):
        if sieve[i]:
            for j in range(i * i, n + 1, i):
                sieve[j] = 0
    return sum(sieve) - 2
def words():
    count = {}
    seed = 42
    for i in range(120000):
        seed = (seed * 1103515245 + 12345) % 2147483648
        w = 'w%d' % (seed % 997)
        count[w] = count.get(w, 0) + 1
    return sorted(count.items(), key=lambda kv: (-kv[1], kv[0]))[:5]
def floats():
    x = 0.0
    for i in range(300000):
        x += math.sin(i) * 0.5 + i / 3
    return x
def matrix(n):
    a = [[i * j % 7 for j in range(n)] for i in range(n)]
    return sum(sum(a[i][k] * a[k][j] for k in range(n)) for i in range(n) for j in range(n))
print(fib(23), primes(300000), words(), floats(), matrix(60))
