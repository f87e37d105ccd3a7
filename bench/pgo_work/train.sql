-- SPDX-License-Identifier: MIT
PRAGMA journal_mode=OFF;
CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 400000)
INSERT INTO t SELECT i, (i * 7919) % 10007, 'name' || ((i * 31) % 5003), i * 0.37 FROM n;
CREATE INDEX ta ON t(a);
CREATE INDEX tb ON t(b);
SELECT a, count(*), sum(c), max(b) FROM t GROUP BY a HAVING count(*) > 10 ORDER BY 2 DESC, 1 LIMIT 50;
SELECT count(*) FROM t x JOIN t y ON x.a = y.id WHERE y.b LIKE 'name1%';
SELECT b, avg(c) FROM t WHERE a BETWEEN 100 AND 900 GROUP BY b ORDER BY 2 LIMIT 20;
UPDATE t SET c = c + a WHERE id % 3 = 0;
DELETE FROM t WHERE a < 500;
SELECT substr(b, 1, 5), sum(length(b)), total(c) FROM t GROUP BY 1;
SELECT count(DISTINCT b) FROM t WHERE c > 1000;
