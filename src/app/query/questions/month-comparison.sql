-- A month against the month before and the same month of the year before, on the paid basis
--
-- One row for each account, currency and line: a category, what was earned, and the net proceeds, in the month, the month before and the
-- same month of the year before, with the differences. Where a month has nothing it is null.
--
-- $month: month = newest, the month
WITH lines_ AS (
  UNPIVOT pnl_by_month
  ON sales, promotions, fees, taxes, refunds, reimbursements, earned, loans_and_transfers, unknown, net_proceeds
  INTO NAME line VALUE amount
)
SELECT account, currency, line,
  sum(amount) FILTER (month = $month) AS this_month,
  sum(amount) FILTER (month = $month_1) AS month_before, this_month - month_before AS change,
  sum(amount) FILTER (month = $month_12) AS year_before, this_month - year_before AS change_of_year
FROM lines_
WHERE month IN ($month, $month_1, $month_12)
GROUP BY account, currency, line
ORDER BY account, currency, list_position([
  'sales', 'promotions', 'fees', 'taxes', 'refunds', 'reimbursements', 'earned', 'loans_and_transfers', 'unknown', 'net_proceeds'
], line)
