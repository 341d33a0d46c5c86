-- One row for each currency: an account's amounts in a range that are earned on one basis only, without loans_and_transfers and unknown.
--
-- deferred: the sum of those of the earned basis, which are not paid yet or were paid later; released: that of those of the paid
-- basis, which are earlier sales.
SELECT coalesce(currency, '') AS currency,
  coalesce(sum(amount) FILTER (is_earned AND NOT is_paid), 0) AS deferred,
  coalesce(sum(amount) FILTER (is_paid AND NOT is_earned), 0) AS released
FROM later_amounts
WHERE account = $account AND role = 'net' AND effective_at >= $from AND effective_at < $to
  AND category NOT IN ('loans_and_transfers', 'unknown')
GROUP BY ALL
