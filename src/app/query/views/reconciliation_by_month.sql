-- One row for each account, month, currency and line, in the order of the lines: from what the marketplace owed at the beginning of the
-- month to what it owed at its end, the line `open at the end`, which is the sum of the others. The other lines are those of clearing;
-- `by date` is net_proceeds of pnl_by_month where settlements are reconciled from transactions.
WITH lines_ AS (
  FROM (VALUES
    (2, 'by date'),
    (3, 'in no loaded settlement'),
    (4, 'in a settlement, not by date'),
    (5, 'on other days'),
    (6, 'beginning balances'),
    (7, 'settlements without events'),
    (8, 'not explained'),
    (9, 'paid out')
  ) AS lines_(place, line)
), moved_ AS (
  SELECT account, currency, month_of(effective_at) AS month, line, sum(amount) AS amount FROM clearing GROUP BY ALL
), months_ AS (
  SELECT account, currency, month, sum(amount) AS change_,
    sum(sum(amount)) OVER (PARTITION BY account, currency ORDER BY month) AS end_
  FROM moved_
  WHERE month IS NOT NULL
  GROUP BY account, currency, month
), rows_ AS (
  SELECT account, month, currency, 1 AS place, 'open at the beginning' AS line, end_ - change_ AS amount FROM months_
  UNION ALL
  SELECT account, month, currency, place, line, coalesce(amount, 0)
  FROM months_ CROSS JOIN lines_ LEFT JOIN moved_ USING (account, month, currency, line)
  UNION ALL
  SELECT account, month, currency, 10, 'open at the end', end_ FROM months_
)
SELECT account, month, currency, line, amount FROM rows_ ORDER BY account, currency, month, place
