-- One row: from when on an account's amounts come from transactions.
--
-- since: the first instant of loaded transactions, null where there are none; is_before: 1 where v0 is loaded before it.
SELECT min(window_start) AS since,
  CAST((SELECT min(window_start) FROM events WHERE account = $account) < min(window_start) AS INTEGER) AS is_before
FROM later_events
WHERE account = $account
