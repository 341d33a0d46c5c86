-- One row for each file of `read_rows` that has rows whose `content_hash` isn't that of `raw`.
--
-- source: the number of the file; found: number of such rows; first: the least of their hashes.
SELECT "source file" AS source, count(*) AS found, min(content_hash) AS first
FROM read_rows
WHERE content_hash IS DISTINCT FROM substr(sha256(raw), 1, 32)
GROUP BY "source file"
ORDER BY ALL
