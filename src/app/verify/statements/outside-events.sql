-- One row for each file with events outside of their window: their number, and the least of their ids.
SELECT file, count(*) AS events, min(id) AS id
FROM seen
WHERE NOT inside
GROUP BY file
ORDER BY file
