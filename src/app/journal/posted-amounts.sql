-- The rows of journal_amounts of a basis, a range of days and an account, null for all.
FROM journal_amounts
WHERE basis = $basis AND date >= CAST($from AS DATE) AND date < CAST($to AS DATE) AND coalesce(account = $account, true)
