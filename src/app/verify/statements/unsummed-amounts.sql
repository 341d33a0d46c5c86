-- One row for each table and currency with amounts that no sum has: the number of them, of all files.
SELECT tab, currency, sum(amounts) AS amounts
FROM unsummed
GROUP BY tab, currency
ORDER BY ALL
