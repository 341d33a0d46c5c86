-- One row for each settlement, category and name, and one for a beginning balance. The amounts of a closed settlement whose events or
-- transactions are loaded add up to its original_total. Those of a settlement without events of v0 are its transactions.
SELECT account, group_id, started_at, ended_at, line.category, line.name, line.times, line.amount, line.currency,
  original_total, original_currency, processing_status, fund_transfer_status, fund_transfer_at
FROM groups JOIN (
  SELECT account, group_id, category, amount_name(event_list, name) AS name, count(*) AS times, sum(amount) AS amount, currency
  FROM settlement_amounts
  WHERE role = 'net'
  GROUP BY ALL
  UNION ALL
  SELECT account, group_id, 'beginning balance', NULL, 1, beginning_balance, beginning_currency
  FROM groups
  WHERE beginning_balance <> 0
) AS line USING (account, group_id)
ORDER BY account, started_at, group_id, currency, line.category, line.amount
