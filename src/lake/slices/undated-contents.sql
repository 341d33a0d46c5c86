-- One row for each content of events without a date: how many more of them a slice (incoming_) has than what it replaces (stored_).
SELECT content_hash, CAST(sum(times) AS BIGINT) AS times
FROM (
  SELECT content_hash, 1 AS times FROM incoming_ WHERE posted_at IS NULL
  UNION ALL
  SELECT content_hash, -1 AS times FROM stored_ WHERE posted_at IS NULL
)
GROUP BY content_hash
HAVING sum(times) > 0
