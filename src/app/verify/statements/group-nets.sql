-- One row for each settlement and currency of v0's events, of all files.
--
-- id: the settlement; net, a decimal text, inexact, unknown: sums of those of `nets`.
SELECT account, group_id AS id, currency, CAST(sum(net) AS VARCHAR) AS net, sum(inexact) AS inexact, sum(unknown) AS unknown
FROM nets
GROUP BY account, group_id, currency
ORDER BY ALL
