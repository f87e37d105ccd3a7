-- SPDX-License-Identifier: MIT
PRAGMA journal_mode=MEMORY;
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, region TEXT, credit NUMERIC);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer(id), day TEXT, amount REAL, note TEXT);
CREATE TABLE audit(id INTEGER PRIMARY KEY, what TEXT);
CREATE TRIGGER added AFTER INSERT ON customer BEGIN INSERT INTO audit(what) VALUES ('added ' || new.name); END;
BEGIN;
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < 8000)
INSERT INTO customer SELECT i, upper(hex(i * 1237)) || ' Ltd', CASE i % 4 WHEN 0 THEN 'north' WHEN 1 THEN 'south' WHEN 2 THEN 'east' ELSE 'west' END, i % 700 FROM n;
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < 60000)
INSERT INTO orders SELECT i, 1 + (i * 613) % 8000, date('2020-01-01', '+' || (i % 900) || ' days'), round((i * 17 % 9973) / 7.0, 2), replace('order no. ' || i, '1', 'one') FROM n;
COMMIT;
CREATE INDEX oc ON orders(customer, day);
SELECT region, strftime('%Y-%m', day) AS month, sum(amount), rank() OVER (PARTITION BY region ORDER BY sum(amount) DESC) FROM orders JOIN customer ON customer.id = orders.customer GROUP BY region, month;
SELECT name, (SELECT max(day) FROM orders o WHERE o.customer = c.id) AS last FROM customer c WHERE credit > 300 AND EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND amount > 1000) ORDER BY last, name LIMIT 500;
SELECT json_group_array(json_object('id', id, 'name', name)) FROM customer WHERE id % 7 = 0;
SELECT avg(length(value)) FROM (SELECT json_each.value AS value FROM (SELECT json_group_array(note) AS j FROM orders WHERE id < 20000), json_each(j));
SELECT count(*) FROM orders WHERE note GLOB '*one[0-5]*' OR note LIKE '%99%';
WITH w AS (SELECT customer, amount, lag(amount) OVER (PARTITION BY customer ORDER BY day) AS before FROM orders) SELECT count(*), sum(amount - before) FROM w WHERE before IS NOT NULL;
SELECT count(*) FROM (SELECT day FROM orders WHERE amount < 300 EXCEPT SELECT day FROM orders WHERE amount > 1400);
UPDATE orders SET note = printf('%08d:%s', id, trim(note)) WHERE customer IN (SELECT id FROM customer WHERE region = 'east');
DELETE FROM audit WHERE id % 2;
INSERT INTO orders SELECT id + 100000, customer, day, -amount, NULL FROM orders WHERE amount > 1200 ON CONFLICT DO NOTHING;
SELECT typeof(amount), count(*), min(day), group_concat(DISTINCT substr(day, 1, 4)) FROM orders GROUP BY 1;
PRAGMA integrity_check;
