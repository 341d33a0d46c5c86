-- SKUs that cost more than they bring
--
-- One row for each account, currency and SKU that lost money from a month on, the largest loss first: shipped units, sales, what was
-- earned, the cost of the units where all of it is known (`--costs`), and the net margin; without a cost a SKU is here where its fees and
-- refunds alone are more than its sales, and missing_cost says why there is none.
--
-- $from: month = newest - 2, the first month
WITH sums_ AS (
  SELECT account, currency, sku, CAST(sum(units) AS BIGINT) AS units, sum(sales) AS sales, sum(earned) AS earned,
    CASE WHEN count(missing_cost) = 0 THEN sum(cost) END AS cost, min(missing_cost) AS missing_cost
  FROM sku_profit
  WHERE month >= $from AND sku IS NOT NULL
  GROUP BY account, currency, sku
)
SELECT account, currency, sku, units, sales, earned, cost, earned + coalesce(cost, 0) AS net_margin, missing_cost
FROM sums_
WHERE earned + coalesce(cost, 0) < 0
ORDER BY account, currency, net_margin, sku
