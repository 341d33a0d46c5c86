-- One row for each settlement, category and name; one for a beginning balance, and one for what is not explained. The amounts of a
-- closed settlement add up to its original_total: what is not explained is the rest, or all of it where its events are not loaded. The
-- lines of a settlement without events of v0 are its transactions.
WITH lines_ AS (
  SELECT account, group_id, category, amount_name(event_list, name) AS name, count(*) AS times, sum(amount) AS amount, currency
  FROM settlement_amounts
  WHERE role = 'net'
  GROUP BY ALL
  UNION ALL
  SELECT account, group_id, 'beginning balance', NULL, 1, beginning_balance, beginning_currency
  FROM groups
  WHERE beginning_balance <> 0
), closed_ AS (
  SELECT account, group_id, original_currency AS currency, original_total AS amount
  FROM groups
  WHERE processing_status = 'Closed' AND original_total IS NOT NULL
), all_ AS (
  FROM lines_
  UNION ALL
  SELECT account, group_id, 'not explained', NULL, 1, sum(amount), currency
  FROM (
    SELECT account, group_id, currency, amount FROM closed_
    UNION ALL
    SELECT account, group_id, currency, -amount FROM lines_ SEMI JOIN closed_ USING (account, group_id)
  )
  GROUP BY account, group_id, currency
  HAVING sum(amount) <> 0
)
SELECT account, group_id, started_at, ended_at, line.category, line.name, line.times, line.amount, line.currency,
  original_total, original_currency, processing_status, fund_transfer_status, fund_transfer_at
FROM groups JOIN all_ AS line USING (account, group_id)
ORDER BY account, started_at, group_id, currency, line.category, line.amount
