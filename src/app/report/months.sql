-- One row for each currency, month and category: an account's net amounts in a range.
--
-- lines: number of amounts; total: their sum; unsummed: number of those that DECIMAL(18,6) cannot hold, which no sum has.
SELECT coalesce(currency, '') AS currency, month, category, count(*) AS lines, coalesce(sum(amount), 0) AS total,
  count(*) FILTER (amount IS NULL) AS unsummed
FROM ledger_amounts
WHERE account = $account AND role = 'net' AND effective_at >= $from AND effective_at < $to
GROUP BY ALL
ORDER BY ALL
