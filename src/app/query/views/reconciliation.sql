-- One row for each account, currency and line, in the order of the lines: from the net amounts of v0 by date to the amount that the
-- bank received, the line total, which is the sum of the others.
WITH closed_ AS (
  SELECT *, original_currency AS currency, fund_transfer_status IS NOT DISTINCT FROM 'Succeeded' AS is_paid
  FROM groups
  WHERE processing_status = 'Closed'
), lines_ AS (
  FROM (VALUES
    (1, 'by date'),
    (2, 'in no loaded settlement'),
    (3, 'in a settlement, not by date'),
    (4, 'in open settlements'),
    (5, 'beginning balances'),
    (6, 'settlements without events'),
    (7, 'closed, not paid out'),
    (8, 'total')
  ) AS lines_(place, line)
), parts_ AS (
  SELECT 1 AS place, account, currency, sum(amount) AS amount FROM entries WHERE role = 'net' GROUP BY ALL
  UNION ALL
  SELECT CASE WHEN line = 'in a settlement, not by date' THEN 3 ELSE 2 END, account, currency, amount FROM reconciliation_events
  UNION ALL
  SELECT 4, account, currency, -sum(amount)
  FROM group_entries ANTI JOIN closed_ USING (account, group_id, currency)
  WHERE role = 'net'
  GROUP BY ALL
  UNION ALL
  SELECT 5, account, currency, beginning_balance FROM closed_
  UNION ALL
  -- Their events by date are among those in no loaded settlement.
  SELECT 6, account, currency, original_total - coalesce(beginning_balance, 0)
  FROM closed_ ANTI JOIN group_events USING (account, group_id)
  UNION ALL
  SELECT CASE WHEN is_paid THEN 8 ELSE 7 END, account, currency, CASE WHEN is_paid THEN original_total ELSE -original_total END
  FROM closed_
)
SELECT account, currency, line, coalesce(sum(amount), 0) AS amount
FROM (SELECT DISTINCT account, currency FROM parts_ WHERE currency IS NOT NULL)
  CROSS JOIN lines_
  LEFT JOIN parts_ USING (account, currency, place)
GROUP BY account, currency, place, line
ORDER BY account, currency, place
