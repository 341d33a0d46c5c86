-- One row for each account: last_day, the last day of its loaded events and transactions in time_zone().
SELECT account, CAST(timezone(time_zone(), max(window_end) - INTERVAL 1 MICROSECOND) AS DATE) AS last_day
FROM (SELECT account, window_end FROM events UNION ALL SELECT account, window_end FROM later_events)
GROUP BY account
