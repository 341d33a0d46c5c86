-- Profit of each marketplace in a month, on the paid basis
--
-- One row for each account, country and currency, the highest sales first: the net amounts by category. v0 does not say the marketplace of
-- advertising, service fees, adjustments and loans: their country is null, and the margins of the others lack them.
--
-- $month: month = newest, the month
SELECT account, country, ledger_amounts.currency,
  coalesce(sum(amount) FILTER (category = 'sales'), 0) AS sales,
  coalesce(sum(amount) FILTER (category = 'promotions'), 0) AS promotions,
  coalesce(sum(amount) FILTER (category = 'fees'), 0) AS fees,
  coalesce(sum(amount) FILTER (category = 'taxes'), 0) AS taxes,
  coalesce(sum(amount) FILTER (category = 'refunds'), 0) AS refunds,
  coalesce(sum(amount) FILTER (category = 'reimbursements'), 0) AS reimbursements,
  coalesce(sum(amount) FILTER (category NOT IN ('loans_and_transfers', 'unknown')), 0) AS earned,
  CASE WHEN country IS NOT NULL THEN percent_of(earned, sales) END AS margin
FROM ledger_amounts LEFT JOIN marketplaces USING (marketplace_id)
WHERE role = 'net' AND month = $month
GROUP BY account, country, ledger_amounts.currency
ORDER BY account, sales DESC, country, currency
