-- The rows of groups as the lake held them at $known_at, of listed_settlements. The list has no history: a transfer dated up to the
-- instant at which it was read is taken for known then.
SELECT groups.* REPLACE (
  CASE WHEN is_same OR is_closed THEN processing_status ELSE 'Open' END AS processing_status,
  CASE WHEN is_same OR has_ended THEN ended_at END AS ended_at,
  CASE WHEN is_same OR has_total THEN original_total END AS original_total,
  CASE WHEN is_same OR is_sent_ THEN fund_transfer_status END AS fund_transfer_status,
  CASE WHEN is_same OR is_sent_ THEN fund_transfer_at END AS fund_transfer_at,
  CASE WHEN is_same OR is_sent_ THEN trace_id END AS trace_id
)
FROM groups
  JOIN (
    SELECT account AS account_, group_id AS group_id_, has_ended, is_closed, has_total, is_same, make_timestamptz(1000 * read_at) AS read_at_
    FROM listed_settlements
  ) ON account_ = account AND group_id_ = coalesce(group_id, '')
  CROSS JOIN LATERAL (SELECT is_closed AND coalesce(fund_transfer_at, ended_at) <= read_at_ AS is_sent_)
