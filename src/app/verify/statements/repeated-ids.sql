-- One row for each two files, or one, with event ids that occur more than once; at most 1,000.
--
-- file, other: numbers of the first and the last file; ids: number of ids; id: the least of them; fault: whether more than one of an
-- id is in its window: an event that the service returned for a window outside of its date may occur again in the right one.
SELECT min(file) AS file, max(file) AS other, count(*) AS ids, min(id) AS id, fault
FROM (
  SELECT min(file) AS file, max(file) AS other, id, count(*) FILTER (inside) > 1 AS fault, tab
  FROM seen
  GROUP BY tab, account, id
  HAVING count(*) > 1
) AS repeated
GROUP BY tab, repeated.file, repeated.other, fault
ORDER BY ALL
LIMIT 1000
