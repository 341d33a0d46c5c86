-- One row for each basis (paid, earned), account, month and currency: the sums of its net amounts by category.
--
-- earned: all but loans_and_transfers and unknown; net_proceeds: all; unsummed: the number of amounts that no sum has.
WITH amounts_ AS (
  SELECT 'paid' AS basis, * FROM ledger_amounts
  UNION ALL
  SELECT 'earned' AS basis, 'v0' AS source, * FROM v0_amounts
  UNION ALL
  SELECT 'earned' AS basis, * EXCLUDE (is_paid, is_earned) FROM later_amounts WHERE is_earned
)
SELECT basis, account, month, currency,
  unnest(net_by_category(category, amount)),
  coalesce(sum(amount), 0::DECIMAL(38,6)) AS net_proceeds,
  count(*) FILTER (amount IS NULL) AS unsummed
FROM amounts_
WHERE role = 'net'
GROUP BY basis, account, month, currency
