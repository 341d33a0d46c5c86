-- One row for each settlement and currency: the sums of its amounts.
--
-- net: of the net amounts; inexact: number of net amounts that DECIMAL(18,6) cannot hold; unknown: number of amounts of unknown
-- role; times: number of amounts.
SELECT group_id, currency, sum(amount) FILTER (role = 'net') AS net,
  count(*) FILTER (role = 'net' AND amount_text IS NOT NULL) AS inexact,
  count(*) FILTER (role = 'unknown') AS unknown, count(*) AS times
FROM settlement_amounts
WHERE account = $account
GROUP BY group_id, currency
ORDER BY ALL
