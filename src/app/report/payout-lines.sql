-- One row for each line of an account's settlements, which has the exact amounts of payout_lines.
SELECT group_id, currency, category, name, times, amount
FROM payout_lines
WHERE account = $account
ORDER BY started_at DESC, group_id, currency, category, amount, name
