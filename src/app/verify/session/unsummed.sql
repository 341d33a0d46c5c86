-- One row for each currency of amounts that DECIMAL(18,6) can't hold, and that no sum has, of `read_entries`, the rows of files with the
-- table (`tab`).
--
-- currency: empty where there is none; amounts: number of them, each entry once.
SELECT tab, coalesce(currency, '') AS currency, count(*) AS amounts
FROM (
  SELECT DISTINCT ON ("source file", event_id, entry) tab, currency
  FROM read_entries
  WHERE amount_text IS NOT NULL
) AS entries
GROUP BY ALL
