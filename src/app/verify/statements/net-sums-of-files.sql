-- One row for each file of `read_entries` and currency: the sum of its net amounts (`net`, a decimal text).
--
-- source: the number of the file; currency: empty where there is none.
SELECT "source file" AS source, coalesce(currency, '') AS currency, CAST(sum(amount) AS VARCHAR) AS net
FROM read_entries
WHERE role = 'net' AND amount IS NOT NULL
GROUP BY ALL
ORDER BY ALL
