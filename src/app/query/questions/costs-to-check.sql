-- Unit costs that no unit uses, and SKUs without a cost
--
-- One row for each SKU and currency of the unit costs (`--costs`) that no shipped unit has, without an account, and for each account, SKU
-- and currency with units that lack a cost: those units, the problem, and a SKU of the other side that differs in case, spaces and
-- punctuation only (similar).
WITH sold_ AS (
  SELECT account, sku, regexp_replace(lower(sku), '[^\pL\pN]', '', 'g') AS letters_, currency,
    CAST(sum(units) FILTER (missing_cost IS NOT NULL) AS BIGINT) AS units, min(missing_cost) AS missing_cost
  FROM sku_profit
  WHERE sku IS NOT NULL
  GROUP BY account, sku, currency
  HAVING sum(units) > 0
), costs_ AS (
  SELECT DISTINCT sku, regexp_replace(lower(sku), '[^\pL\pN]', '', 'g') AS letters_, currency FROM unit_costs
), unused_ AS (
  SELECT costs_.sku, costs_.currency, string_agg(DISTINCT sold_.currency, ', ' ORDER BY sold_.currency)
    FILTER (sold_.sku = costs_.sku) AS sold_in_, min(sold_.sku) AS similar_
  FROM costs_ LEFT JOIN sold_ USING (letters_)
  GROUP BY ALL
  HAVING NOT coalesce(bool_or(sold_.sku = costs_.sku AND sold_.currency = costs_.currency), false)
), rows_ AS (
  SELECT NULL AS account, sku, currency, NULL AS units,
    CASE WHEN sold_in_ IS NULL THEN 'no units of this SKU' ELSE 'units in ' || sold_in_ || ' only' END AS problem,
    CASE WHEN sold_in_ IS NULL THEN similar_ END AS similar
  FROM unused_
  UNION ALL
  SELECT account, sold_.sku, sold_.currency, units, 'cost: ' || missing_cost, min(costs_.sku) FILTER (costs_.sku <> sold_.sku)
  FROM sold_ LEFT JOIN costs_ USING (letters_)
  WHERE missing_cost IS NOT NULL
  GROUP BY ALL
)
SELECT * FROM rows_ ORDER BY account NULLS FIRST, units DESC, sku, currency
