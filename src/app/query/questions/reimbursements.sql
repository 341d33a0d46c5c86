-- Reimbursements by month
--
-- One row for each account, currency, month and name, the newest month first: the number of amounts (times) and their sum, less what was
-- taken back.
--
-- $from: month = newest - 12, the first month
SELECT account, currency, month, amount_name(event_list, name) AS name, count(*) AS times, sum(amount) AS total
FROM ledger_amounts
WHERE role = 'net' AND category = 'reimbursements' AND month >= $from
GROUP BY ALL
ORDER BY account, currency, month DESC, total DESC, name
