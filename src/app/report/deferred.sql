-- One row for each currency: an account's transactions that were earned before the end of a range, and not paid by then.
--
-- times: their number; total: their sum; matures: the latest date of maturity. Their status doesn't decide: it is that of the last reading.
SELECT coalesce(currency, '') AS currency, count(*) AS times, coalesce(sum(total_amount), 0) AS total,
  max(maturity_at) AS matures
FROM outstanding_at($to)
WHERE account = $account
GROUP BY ALL
ORDER BY currency
