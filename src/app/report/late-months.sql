-- One row for each currency and month of which an account's events in a range have changed, the newest month first.
--
-- appeared, vanished: number of events; changed: net amount of those that appeared less that of those that vanished; last_seen: when
-- the last change was found.
SELECT currency, month_of(effective_at) AS month, count(*) FILTER (change = 'appeared') AS appeared,
  count(*) FILTER (change = 'vanished') AS vanished,
  sum(CASE WHEN change = 'appeared' THEN net ELSE -net END) AS changed, max(seen_at) AS last_seen
FROM event_history JOIN changed_amounts USING (account, source, event_id)
WHERE account = $account AND source = 'events' AND effective_at >= $from AND effective_at < $to
GROUP BY ALL
ORDER BY currency, month DESC
