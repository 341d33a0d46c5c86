-- One row for each basis (paid, earned), account, month and currency: the sums of its net amounts by category.
--
-- earned: all but loans_and_transfers and unknown; net_proceeds: all; unsummed: the number of amounts that no sum has.
WITH amounts_ AS (
  SELECT 'paid' AS basis, * FROM ledger_amounts
  UNION ALL
  SELECT 'earned' AS basis, * FROM earned_amounts
)
SELECT basis, account, month, currency,
  coalesce(sum(amount) FILTER (category NOT IN ('loans_and_transfers', 'unknown')), 0::DECIMAL(38,6)) AS earned,
  coalesce(sum(amount) FILTER (category = 'sales'), 0::DECIMAL(38,6)) AS sales,
  coalesce(sum(amount) FILTER (category = 'promotions'), 0::DECIMAL(38,6)) AS promotions,
  coalesce(sum(amount) FILTER (category = 'fees'), 0::DECIMAL(38,6)) AS fees,
  coalesce(sum(amount) FILTER (category = 'taxes'), 0::DECIMAL(38,6)) AS taxes,
  coalesce(sum(amount) FILTER (category = 'refunds'), 0::DECIMAL(38,6)) AS refunds,
  coalesce(sum(amount) FILTER (category = 'reimbursements'), 0::DECIMAL(38,6)) AS reimbursements,
  coalesce(sum(amount) FILTER (category = 'loans_and_transfers'), 0::DECIMAL(38,6)) AS loans_and_transfers,
  coalesce(sum(amount) FILTER (category = 'unknown'), 0::DECIMAL(38,6)) AS unknown,
  coalesce(sum(amount), 0::DECIMAL(38,6)) AS net_proceeds,
  count(*) FILTER (amount IS NULL) AS unsummed
FROM amounts_
WHERE role = 'net'
GROUP BY basis, account, month, currency
