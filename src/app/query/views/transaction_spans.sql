-- One row for each account whose settlements are reconciled from transactions, as it has no events of v0's settlements: the first
-- and the last instant of its loaded transactions.
SELECT account, min(window_start) AS first_at, max(window_end) AS last_at
FROM transactions ANTI JOIN group_events USING (account)
GROUP BY account
