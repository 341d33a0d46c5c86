-- Fees of each 100 of sales, by month
--
-- One row for each account, currency and month, the newest first: sales, fees, and the fees of each 100 of sales (rate), without those
-- that refunds gave back.
--
-- $from: month = newest - 12, the first month
SELECT account, currency, month, sales, fees, percent_of(-fees, sales) AS rate
FROM pnl_by_month
WHERE month >= $from
ORDER BY account, currency, month DESC
