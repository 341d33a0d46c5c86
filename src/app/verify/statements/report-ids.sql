-- One row for each file of `read_lines` that has lines whose ids don't follow from `raw`.
--
-- source: the number of the file; found: number of such lines; first: the least of their ids.
SELECT "source file" AS source, count(*) AS found, min(event_id) AS first
FROM read_lines
WHERE
  content_hash IS DISTINCT FROM substr(sha256('settlement_lines' || chr(0) || raw), 1, 32)
  OR NOT starts_with(event_id, settlement_id || ':' || content_hash)
GROUP BY "source file"
ORDER BY ALL
