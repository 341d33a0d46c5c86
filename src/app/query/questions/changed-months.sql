-- What changed in months that were loaded before
--
-- One row for each account, month, currency and table (source), the newest month first: the number of events that appeared and vanished,
-- what that changed (changed), and what it changed in net_proceeds of pnl_by_month, which counts an event that several tables have once,
-- and a deferred sale when it is released (net_proceeds); when the last change was seen.
--
-- $since: date = 30 days ago, the first day on which a change was seen
WITH changes_ AS (
  SELECT event_history.account, event_history.effective_at, source, event_id, change, seen_at, currency,
    CASE WHEN change = 'appeared' THEN net ELSE -net END AS changed_,
    CASE source
      WHEN 'events' THEN first_at IS NULL OR event_history.effective_at < first_at
      WHEN 'transactions' THEN coalesce(status, attributes ->> 'status') IS NOT DISTINCT FROM 'RELEASED'
      ELSE false
    END AS is_counted_
  FROM event_history
    LEFT JOIN changed_amounts USING (account, source, event_id)
    LEFT JOIN loaded_transactions USING (account)
    LEFT JOIN (SELECT account, event_id, status FROM transactions) USING (account, event_id)
  WHERE seen_at >= CAST($since AS TIMESTAMPTZ)
)
SELECT account, month_of(effective_at) AS month, currency, source,
  count(DISTINCT event_id) FILTER (change = 'appeared') AS appeared,
  count(DISTINCT event_id) FILTER (change = 'vanished') AS vanished,
  sum(changed_) AS changed,
  coalesce(sum(changed_) FILTER (is_counted_), 0) AS net_proceeds,
  max(seen_at) AS last_seen
FROM changes_
GROUP BY ALL
ORDER BY account, month DESC, currency, source
