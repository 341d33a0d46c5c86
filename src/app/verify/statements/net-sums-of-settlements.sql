-- One row for each settlement and currency of a table ($tab), of all files.
--
-- id: the group, or the settlement ($by: group_id, settlement_id); net, a decimal text, inexact, unknown: sums of those of `nets`.
SELECT account, CASE $by WHEN 'group_id' THEN group_id ELSE settlement_id END AS id, currency, CAST(sum(net) AS VARCHAR) AS net,
  sum(inexact) AS inexact, sum(unknown) AS unknown
FROM nets
WHERE tab = $tab
GROUP BY ALL
ORDER BY ALL
