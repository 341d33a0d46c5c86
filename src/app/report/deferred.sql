-- One row for each currency: an account's deferred transactions in a range, which are not paid yet.
--
-- times: their number; total: their sum; matures: the latest date of maturity.
SELECT coalesce(currency, '') AS currency, count(*) AS times, coalesce(sum(total_amount), 0) AS total,
  max(maturity_at) AS matures
FROM transactions
WHERE account = $account AND status = 'DEFERRED' AND effective_at >= $from AND effective_at < $to
GROUP BY ALL
ORDER BY currency
