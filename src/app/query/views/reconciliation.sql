-- One row for each account, currency and line, in the order of the lines: from the net amounts by date to the amount that the
-- bank received, the line total, which is the sum of the others. An account without events of v0's settlements is reconciled from
-- transactions, by date as in ledger.
WITH closed_ AS (
  SELECT *, original_currency AS currency, fund_transfer_status IS NOT DISTINCT FROM 'Succeeded' AS is_paid
  FROM groups
  WHERE processing_status = 'Closed'
), later_sums_ AS (
  SELECT account, group_id, currency, sum(amount) AS amount
  FROM later_amounts SEMI JOIN transaction_spans USING (account)
  WHERE is_paid AND role = 'net' AND group_id IS NOT NULL
  GROUP BY ALL
), lines_ AS (
  FROM (VALUES
    (1, 'by date'),
    (2, 'in no loaded settlement'),
    (3, 'in a settlement, not by date'),
    (4, 'in open settlements'),
    (5, 'beginning balances'),
    (6, 'settlements without events'),
    (7, 'closed, not paid out'),
    (8, 'not explained'),
    (9, 'total')
  ) AS lines_(place, line)
), steps_ AS (
  SELECT 1 AS place, account, currency, sum(amount) AS amount
  FROM entries ANTI JOIN transaction_spans USING (account)
  WHERE role = 'net'
  GROUP BY ALL
  UNION ALL
  SELECT 1, account, currency, sum(amount) FROM ledger_amounts SEMI JOIN transaction_spans USING (account) WHERE role = 'net' GROUP BY ALL
  UNION ALL
  SELECT CASE WHEN line = 'in a settlement, not by date' THEN 3 ELSE 2 END, account, currency, amount FROM reconciliation_events
  UNION ALL
  -- What a settlement has before and after the loaded transactions.
  SELECT 3, account, currency, original_total - coalesce(beginning_balance, 0) - amount
  FROM closed_ JOIN transaction_spans USING (account) JOIN later_sums_ USING (account, group_id, currency)
  WHERE started_at < first_at OR ended_at > last_at
  UNION ALL
  SELECT 4, account, currency, -sum(amount)
  FROM group_entries ANTI JOIN closed_ USING (account, group_id, currency)
  WHERE role = 'net'
  GROUP BY ALL
  UNION ALL
  SELECT 4, account, currency, -amount
  FROM later_sums_ SEMI JOIN groups USING (account, group_id) ANTI JOIN closed_ USING (account, group_id, currency)
  UNION ALL
  SELECT 5, account, currency, beginning_balance FROM closed_
  UNION ALL
  -- Their events by date are among those in no loaded settlement.
  SELECT 6, account, currency, original_total - coalesce(beginning_balance, 0)
  FROM closed_ ANTI JOIN group_events USING (account, group_id) ANTI JOIN later_sums_ USING (account, group_id)
  UNION ALL
  SELECT 7, account, currency, -original_total FROM closed_ WHERE NOT is_paid
), parts_ AS (
  FROM steps_
  UNION ALL
  -- A closed settlement that does not add up, and any other remainder.
  SELECT 8, account, currency, -amount FROM steps_
  UNION ALL
  SELECT unnest([8, 9]), account, currency, original_total FROM closed_ WHERE is_paid
)
SELECT account, currency, line, coalesce(sum(amount), 0) AS amount
FROM (SELECT DISTINCT account, currency FROM parts_ WHERE currency IS NOT NULL)
  CROSS JOIN lines_
  LEFT JOIN parts_ USING (account, currency, place)
GROUP BY account, currency, place, line
ORDER BY account, currency, place
