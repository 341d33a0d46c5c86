-- Profit of each marketplace in a month, on the paid basis
--
-- One row for each account, country and currency, the highest sales first: the net amounts by category. v0 does not say the marketplace of
-- advertising, service fees, adjustments and loans: their country is null, and the margins of the others lack them.
--
-- $month: month = newest, the month
SELECT account, country, currency, sales, promotions, fees, taxes, refunds, reimbursements, earned,
  CASE WHEN country IS NOT NULL THEN percent_of(earned, sales) END AS margin
FROM (
  SELECT account, country, ledger_amounts.currency, unnest(net_by_category(category, amount))
  FROM ledger_amounts LEFT JOIN marketplaces USING (marketplace_id)
  WHERE role = 'net' AND month = $month
  GROUP BY account, country, ledger_amounts.currency
)
ORDER BY account, sales DESC, country, currency
