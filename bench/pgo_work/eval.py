# SPDX-License-Identifier: MIT
# What bench/pgo evaluates Python on: classes, generators, exceptions, json, re, text, sets, decimal-free formatting.
import collections, functools, io, itertools, json, re, string, textwrap
class Node:
    __slots__ = ('key', 'left', 'right')
    def __init__(self, key): self.key, self.left, self.right = key, None, None
class Tree:
    def __init__(self): self.root, self.n = None, 0
    def __len__(self): return self.n
    def __contains__(self, key):
        at = self.root
        while at is not None and at.key != key: at = at.left if key < at.key else at.right
        return at is not None
    def add(self, key):
        self.n += 1
        if self.root is None: self.root = Node(key); return
        at = self.root
        while True:
            if key < at.key:
                if at.left is None: at.left = Node(key); return
                at = at.left
            else:
                if at.right is None: at.right = Node(key); return
                at = at.right
    def __iter__(self):
        def walk(n):
            if n: yield from walk(n.left); yield n.key; yield from walk(n.right)
        return walk(self.root)
t = Tree()
for i in range(6000): t.add(i * 7919 % 10007)
print(len(t), sum(1 for k in range(3000) if k in t), sum(itertools.islice(t, 0, None, 3)))
data = [{'id': i, 'name': f'name {i:05d}', 'tags': ['a', 'b' * (i % 5)], 'v': i / 7} for i in range(1500)]
text = json.dumps(data, indent=1)
again = json.loads(text)
print(len(text), again == data)
words = re.findall(r'[A-Za-z_]\w*', text)
print(collections.Counter(words).most_common(3), re.sub(r'(\d+)\.(\d+)', r'\2.\1', text)[:20])
@functools.lru_cache(None)
def ways(n, k): return 1 if n == 0 else 0 if n < 0 or k == 0 else ways(n - k, k) + ways(n, k - 1)
print(ways(120, 40))
def risky(i):
    try:
        if i % 3 == 0: raise ValueError(i)
        if i % 5 == 0: return {}['missing']
    except KeyError as e: return str(e)
    except ValueError as e: return e.args[0]
    finally: i += 1
    return i
print(len({risky(i) for i in range(12000)}))
out = io.StringIO()
for para in range(25): out.write(textwrap.fill(' '.join(words[para * 30:para * 30 + 200]), 72) + '\n')
print(len(out.getvalue()), out.getvalue().translate(str.maketrans(string.ascii_lowercase, string.ascii_uppercase)).count('NAME'))
sets = [frozenset(range(i, i + 40)) for i in range(600)]
print(len(functools.reduce(lambda a, b: a | b, sets)), sum(len(a & b) for a, b in zip(sets, sets[7:])))
print(sorted(data, key=lambda d: (d['tags'][1], -d['v']))[3]['name'], '{:>10}|{:<8.3f}|{!r}'.format('x', 2.5, b'bytes'))
def gen():
    x = yield 0
    while True: x = yield x * 2 if x else 1
g = gen(); next(g)
print(sum(g.send(i) for i in range(30000)))
with open(__file__) as f: src = f.read()
for i in range(6): exec(compile(src.split('print(len(t)')[0], 'again', 'exec'), {'__name__': 'x'})
print(sum(int(s) for s in map(str, range(20000))), divmod(3 ** 900, 10 ** 40)[1])
