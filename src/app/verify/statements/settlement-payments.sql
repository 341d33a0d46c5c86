-- One row for each settlement and currency of transactions, of all files.
--
-- id: the settlement; net, a decimal text, inexact, unknown: sums of those of `paid`.
SELECT account, settlement_id AS id, currency, CAST(sum(net) AS VARCHAR) AS net, sum(inexact) AS inexact, sum(unknown) AS unknown
FROM paid
GROUP BY account, settlement_id, currency
ORDER BY ALL
