-- One row for each name of journal_amounts that the chart of accounts doesn't name, and currency.
--
-- amount: decimal text, positive is the seller's gain; times: the number of amounts.
SELECT account, category, kind, coalesce(name, kind) AS name, currency, CAST(sum(times) AS BIGINT) AS times, CAST(sum(amount) AS VARCHAR) AS amount
FROM journal_amounts
WHERE NOT is_named
GROUP BY ALL
ORDER BY account, currency, kind, name
