-- The rows of groups as the lake held them at $known_at: a settlement was open until it ended, as far as events were loaded by then.
WITH known_ AS (
  SELECT account, make_timestamptz(1000 * max(ends_at)) AS end_
  FROM loaded_spans()
  WHERE since <= epoch_ms($known_at)
  GROUP BY account
)
SELECT groups.* REPLACE (
  CASE WHEN ended_at <= end_ THEN processing_status ELSE 'Open' END AS processing_status,
  CASE WHEN ended_at <= end_ THEN ended_at END AS ended_at,
  CASE WHEN ended_at <= end_ THEN original_total END AS original_total,
  CASE WHEN fund_transfer_at <= end_ THEN fund_transfer_status END AS fund_transfer_status,
  CASE WHEN fund_transfer_at <= end_ THEN fund_transfer_at END AS fund_transfer_at,
  CASE WHEN fund_transfer_at <= end_ THEN trace_id END AS trace_id
)
FROM groups JOIN known_ USING (account)
WHERE started_at < end_
