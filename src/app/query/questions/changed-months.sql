-- What changed in months that were loaded before
--
-- One row for each account, month, currency and table (source), the newest month first: the number of events that appeared and vanished,
-- what that changed, and when the last change was seen. Of transactions a deferred sale and its release both count.
--
-- $since: date = 30 days ago, the first day on which a change was seen
SELECT account, month_of(effective_at) AS month, currency, source,
  count(DISTINCT event_id) FILTER (change = 'appeared') AS appeared,
  count(DISTINCT event_id) FILTER (change = 'vanished') AS vanished,
  sum(CASE WHEN change = 'appeared' THEN net ELSE -net END) AS changed,
  max(seen_at) AS last_seen
FROM event_history LEFT JOIN changed_amounts USING (account, source, event_id)
WHERE seen_at >= CAST($since AS TIMESTAMPTZ)
GROUP BY ALL
ORDER BY account, month DESC, currency, source
