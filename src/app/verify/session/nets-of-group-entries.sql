-- One row for each settlement and currency of v0's events.
--
-- net: the sum of its net amounts; inexact: number of those that DECIMAL(18,6) can't hold; unknown: number of amounts of unknown role.
SELECT 'group_entries' AS tab, account, group_id, NULL AS settlement_id, currency, sum(amount) FILTER (role = 'net') AS net,
  count(*) FILTER (role = 'net' AND amount_text IS NOT NULL) AS inexact, count(*) FILTER (role = 'unknown') AS unknown
FROM group_entries
GROUP BY account, group_id, currency
