-- The largest fees of a month
--
-- One row for each account, currency and fee, the largest first: the number of charges (times), their sum, and what that is of each 100
-- of sales (rate).
--
-- $month: month = newest, the month
-- $limit: count = 10, fees of each currency
SELECT account, currency, fee, times, total, percent_of(-total, sales) AS rate
FROM fees_by_type JOIN pnl_by_month USING (account, month, currency)
WHERE month = $month
QUALIFY row_number() OVER (PARTITION BY account, currency ORDER BY total, fee) <= $limit
ORDER BY account, currency, total, fee
