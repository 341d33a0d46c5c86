-- Events that appeared late or vanished
--
-- One row for each change that a later read found, and currency, the newest first: the tables that have the event (sources), when it was
-- seen, how many days after the event, the event, and its net amount, which is null for a transfer. An event of v0 and its transaction
-- are two events. Left out are transactions whose status has changed, such as a release, and what was seen on its own day.
--
-- $since: date = 30 days ago, the first day on which it was seen
-- $limit: count = 50, changes of an account
WITH numbered_ AS (
  SELECT *, row_number() OVER (
    PARTITION BY account, source, change, content_hash, currency ORDER BY seen_at, event_id
  ) AS number_
  FROM event_history LEFT JOIN changed_amounts USING (account, source, event_id)
  WHERE seen_at >= CAST($since AS TIMESTAMPTZ)
), changes_ AS (
  SELECT account, string_agg(DISTINCT source, ', ' ORDER BY source) AS sources, change, min(seen_at) AS seen_at,
    min(effective_at) AS effective_at, event_list, amazon_order_id, any_value(net) AS net, currency, min(event_id) AS event_
  FROM numbered_
  GROUP BY account, change, content_hash, number_, currency, event_list, amazon_order_id
)
SELECT account, sources, change, seen_at, date_diff('day', effective_at, seen_at) AS days_late, effective_at, event_list, amazon_order_id,
  net, currency
FROM (
  -- One that has another status has vanished and appeared at once, with the same amount.
  FROM changes_
  WINDOW same_ AS (PARTITION BY account, sources, seen_at, event_list, amazon_order_id, currency, net)
  QUALIFY min(change) OVER same_ = max(change) OVER same_
)
WHERE change = 'vanished' OR date_diff('day', effective_at, seen_at) > 0
QUALIFY row_number() OVER (PARTITION BY account ORDER BY seen_at DESC, effective_at DESC, event_, currency) <= $limit
ORDER BY account, seen_at DESC, effective_at DESC, event_, currency
