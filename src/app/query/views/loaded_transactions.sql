-- One row for each account with transactions: the first and the last instant of those that are loaded (first_at, last_at).
SELECT account, min(window_start) AS first_at, max(window_end) AS last_at FROM later_events GROUP BY account
