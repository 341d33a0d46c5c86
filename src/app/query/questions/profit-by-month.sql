-- Profit of each month, on the paid basis
--
-- One row for each account, currency and month, the newest first: the net amounts by category, their sums (as in pnl_by_month), and what
-- is earned of each 100 of sales (margin). A deferred sale counts when it is released; pnl_by_month_earned has it when it happened.
--
-- $from: month = newest - 12, the first month
SELECT account, currency, month, sales, promotions, fees, taxes, refunds, reimbursements, earned, percent_of(earned, sales) AS margin,
  loans_and_transfers, unknown, net_proceeds
FROM pnl_by_month
WHERE month >= $from
ORDER BY account, currency, month DESC
