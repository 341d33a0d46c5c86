-- One row for each content of events that is more often by date than in settlements of v0, or the other way round. An account without
-- events of v0's settlements has one for each transaction, or event of v0 before the first of them, whose settlement is not loaded.
--
-- line: the line of reconciliation that the amount is part of; times_by_date, times_in_settlements: how often the content is there;
-- amount: what it adds to that line.
WITH differing_ AS MATERIALIZED (
  -- Few, so that most amounts are not read.
  SELECT account, content_hash
  FROM (
    SELECT account, content_hash, 1 AS way_ FROM events ANTI JOIN transaction_spans USING (account)
    UNION ALL
    SELECT account, content_hash, -1 FROM group_events
  )
  GROUP BY ALL
  HAVING sum(way_) <> 0
), dated_ AS (
  SELECT account, currency, content_hash, any_value(entries.event_list) AS event_list, min(entries.effective_at) AS effective_at,
    any_value(entries.amazon_order_id) AS amazon_order_id, count(DISTINCT event_id) AS times, sum(amount) AS amount
  FROM entries JOIN (
    SELECT account, event_id, content_hash FROM events SEMI JOIN differing_ USING (account, content_hash)
  ) USING (account, event_id)
  WHERE role = 'net'
  GROUP BY account, currency, content_hash
), settled_ AS (
  SELECT account, currency, content_hash, any_value(group_entries.event_list) AS event_list,
    min(group_entries.effective_at) AS effective_at, any_value(group_entries.amazon_order_id) AS amazon_order_id,
    count(DISTINCT event_id) AS times, sum(amount) AS amount
  FROM group_entries JOIN (
    SELECT account, event_id, content_hash FROM group_events SEMI JOIN differing_ USING (account, content_hash)
  ) USING (account, event_id)
  WHERE role = 'net'
  GROUP BY account, currency, content_hash
)
SELECT account, currency,
  CASE
    WHEN coalesce(settled_.times, 0) > coalesce(dated_.times, 0) THEN 'in a settlement, not by date'
    ELSE 'in no loaded settlement'
  END AS line,
  coalesce(dated_.event_list, settled_.event_list) AS event_list,
  coalesce(dated_.effective_at, settled_.effective_at) AS effective_at,
  coalesce(dated_.amazon_order_id, settled_.amazon_order_id) AS amazon_order_id,
  content_hash,
  coalesce(dated_.times, 0) AS times_by_date,
  coalesce(settled_.times, 0) AS times_in_settlements,
  coalesce(settled_.amount, 0) - coalesce(dated_.amount, 0) AS amount
FROM dated_ FULL JOIN settled_ USING (account, currency, content_hash)
WHERE dated_.times IS DISTINCT FROM settled_.times
UNION ALL
SELECT account, currency, 'in no loaded settlement', any_value(event_list), min(effective_at), any_value(amazon_order_id), content_hash,
  count(DISTINCT event_id), 0, -sum(amount)
FROM ledger_amounts
  SEMI JOIN transaction_spans USING (account)
  ANTI JOIN groups USING (account, group_id)
  JOIN (
    SELECT account, event_id, content_hash FROM events
    UNION ALL
    SELECT account, event_id, content_hash FROM later_events
  ) USING (account, event_id)
WHERE role = 'net'
GROUP BY account, currency, content_hash
ORDER BY account, currency, line, effective_at, content_hash
