-- One row for each currency: an account's amounts in a range that are earned on one basis only.
--
-- deferred: the sum of those of the earned basis, which are not paid yet or were paid later; released: that of those of the paid
-- basis, which are earlier sales. What is earned has no loans_and_transfers and unknown amounts.
SELECT coalesce(currency, '') AS currency,
  net_by_category(category, CASE WHEN is_earned AND NOT is_paid THEN amount END).earned AS deferred,
  net_by_category(category, CASE WHEN is_paid AND NOT is_earned THEN amount END).earned AS released
FROM later_amounts
WHERE account = $account AND role = 'net' AND effective_at >= $from AND effective_at < $to
GROUP BY ALL
