-- One row for each account: its earliest event or transaction that was read by date (`oldest`, milliseconds since 1970).
SELECT account, min(instant) AS oldest
FROM seen
WHERE tab IN ('events', 'transactions')
GROUP BY account
