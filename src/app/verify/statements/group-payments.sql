-- One row for each group and currency of transactions, of all files.
--
-- id: the group; net, a decimal text, inexact, unknown: sums of those of `paid`.
SELECT account, group_id AS id, currency, CAST(sum(net) AS VARCHAR) AS net, sum(inexact) AS inexact, sum(unknown) AS unknown
FROM paid
GROUP BY account, group_id, currency
ORDER BY ALL
