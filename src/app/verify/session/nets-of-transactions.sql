-- One row for each group, settlement and currency of what transactions paid: all that are released, except transfers to the bank.
--
-- net: the sum of their totals; inexact: number of those that DECIMAL(18,6) can't hold; unknown: 0.
SELECT 'transactions' AS tab, account, group_id, settlement_id, currency, sum(total_amount) AS net, count(total_text) AS inexact,
  0 AS unknown
FROM transactions
WHERE status = 'RELEASED' AND transaction_type IS DISTINCT FROM 'Transfer'
GROUP BY account, group_id, settlement_id, currency
