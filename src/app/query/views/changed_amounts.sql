-- One row for each event that appeared late or vanished, by date, and currency: the sum of its net amounts (`net`).
--
-- The entries of an event that is not in the lake are those of its last row in `event_history`.
WITH loaded AS (
  SELECT account, event_id, currency, role, amount
  FROM entries SEMI JOIN (FROM event_history WHERE source = 'events') USING (account, event_id)
), removed AS (
  SELECT account, event_id, entries
  FROM event_history ANTI JOIN loaded USING (account, event_id)
  WHERE source = 'events' AND entries IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY account, event_id ORDER BY seen_at DESC) = 1
), stored AS (
  SELECT account, event_id,
    unnest(from_json(entries, '[{"currency": "VARCHAR", "role": "VARCHAR", "amount": "VARCHAR"}]'), recursive := true)
  FROM removed
)
SELECT account, event_id, coalesce(currency, '') AS currency, sum(amount) AS net
FROM (
  SELECT account, event_id, currency, role, amount FROM loaded
  UNION ALL
  SELECT account, event_id, currency, role, CAST(amount AS DECIMAL(18,6)) FROM stored
)
WHERE role = 'net'
GROUP BY ALL
