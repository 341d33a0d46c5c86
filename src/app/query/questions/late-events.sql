-- Events that appeared late or vanished
--
-- One row for each change that a later read found, and currency, the newest first: when it was seen, how many days after the event, the
-- event, and its net amount, which is null for a transfer. A deferred sale and its release are two events with the same amount.
--
-- $since: date = 30 days ago, the first day on which it was seen
-- $limit: count = 50, changes of an account
SELECT account, source, change, seen_at, date_diff('day', effective_at, seen_at) AS days_late, effective_at, event_list, amazon_order_id,
  net, currency
FROM event_history LEFT JOIN changed_amounts USING (account, source, event_id)
WHERE seen_at >= CAST($since AS TIMESTAMPTZ)
QUALIFY row_number() OVER (PARTITION BY account ORDER BY seen_at DESC, effective_at DESC, event_id, currency) <= $limit
ORDER BY account, seen_at DESC, effective_at DESC, event_id, currency
