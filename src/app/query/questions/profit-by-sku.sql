-- Profit and margin of each SKU in a month, on the paid basis
--
-- One row for each account, currency and SKU, the highest sales first, and one without a SKU for the amounts that name none: shipped and
-- refunded units, sales, fees, refunds, and ads of those that name a SKU, what was earned, which has the other categories too, and with
-- unit costs (`--costs`) the cost of the shipped units, the net margin, and what that is of each 100 of sales (margin). Without a cost
-- these are null, and missing_cost says why.
--
-- $month: month = newest, the month
-- $limit: count = 20, SKUs of each currency
SELECT account, currency, sku, units, refunded_units, sales, fees, refunds, ads, earned, cost, net_margin,
  CASE WHEN sku IS NOT NULL THEN percent_of(net_margin, sales) END AS margin, missing_cost
FROM sku_profit
WHERE month = $month
QUALIFY row_number() OVER (PARTITION BY account, currency, sku IS NULL ORDER BY sales DESC, sku) <= $limit
ORDER BY account, currency, sku IS NULL, sales DESC, sku
