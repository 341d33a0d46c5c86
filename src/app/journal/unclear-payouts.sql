-- One row: times, the settlements of an account, null for all, of which the lake can't tell whether their transfer was known at the version
-- of listed_settlements. groups are as known: those with a transfer, dated in a range of days, that were closed, and listed again since.
SELECT count(*) AS times
FROM groups JOIN listed_settlements USING (account, group_id)
WHERE is_closed AND NOT is_same AND fund_transfer_status IS NOT NULL AND coalesce(account = $account, true)
  AND CAST(timezone(time_zone(), coalesce(fund_transfer_at, ended_at)) AS DATE) >= CAST($from AS DATE)
  AND CAST(timezone(time_zone(), coalesce(fund_transfer_at, ended_at)) AS DATE) < CAST($to AS DATE)
