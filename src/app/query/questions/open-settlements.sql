-- Open settlements and what they have so far
--
-- One row for each open settlement and currency, the oldest first: its beginning balance, its net amounts so far, both together, and its
-- newest event.
WITH parts_ AS (
  SELECT account, group_id, currency, 0 AS balance_, amount AS net_, effective_at AS at_ FROM settlement_amounts WHERE role = 'net'
  UNION ALL
  SELECT account, group_id, coalesce(beginning_currency, original_currency), coalesce(beginning_balance, 0), 0, NULL FROM groups
)
SELECT account, group_id, started_at, currency, sum(balance_) AS beginning_balance, sum(net_) AS net_so_far,
  sum(balance_) + sum(net_) AS total_so_far, max(at_) AS newest_event
FROM parts_ JOIN groups USING (account, group_id)
WHERE processing_status IS DISTINCT FROM 'Closed'
GROUP BY account, group_id, started_at, currency
ORDER BY account, started_at, group_id, currency
