-- One row for each account, month, currency and SKU, and one without a SKU for the amounts that name none.
--
-- units, refunded_units: shipped ones, and those of refunds, guarantee claims and chargebacks; sales to reimbursements: the net amounts
-- by category; ads: what fees and taxes have for advertising that names the SKU; earned: the sum of the categories, as in pnl_by_month;
-- cost: of the shipped units, negative, each by the cost of unit_costs that is valid on the day of its sale, also where the unit came
-- back; of a deferred sale that was released, the day of the deferred transaction, where the lake has it; net_margin: earned and cost
-- together. Both are null where a unit has no cost in the currency of the amounts: missing_cost says why.
WITH amounts_ AS (
  SELECT account, month, currency, sku, effective_at, event_id, event_list, item, quantity, category, amount
  FROM ledger_amounts
  WHERE role = 'net'
), sums_ AS (
  SELECT account, month, currency, sku, unnest(net_by_category(category, amount)),
    coalesce(sum(amount) FILTER (starts_with(event_list, 'ProductAdsPayment')), 0) AS ads
  FROM amounts_
  GROUP BY account, month, currency, sku
), items_ AS (
  -- Each amount of an item has its quantity.
  SELECT account, month, currency, sku,
    CAST(timezone(time_zone(), coalesce(any_value(sold_at), effective_at)) AS DATE) AS day_,
    event_list = 'ShipmentEventList' AS is_shipped_, max(quantity) AS quantity_
  FROM amounts_ LEFT JOIN (SELECT account, event_id, sold_at FROM releases) USING (account, event_id)
  WHERE event_list = 'ShipmentEventList' OR category = 'refunds'
  GROUP BY account, month, currency, sku, effective_at, event_list, event_id, item
), units_ AS (
  SELECT account, month, currency, sku, day_,
    coalesce(sum(quantity_) FILTER (is_shipped_), 0) AS shipped_, coalesce(sum(quantity_) FILTER (NOT is_shipped_), 0) AS refunded_
  FROM items_
  GROUP BY ALL
), costed_ AS (
  SELECT account, month, units_.currency, units_.sku, CAST(sum(shipped_) AS BIGINT) AS units,
    CAST(sum(refunded_) AS BIGINT) AS refunded_units, sum(shipped_ * unit_cost) AS cost_,
    coalesce(bool_or(shipped_ <> 0 AND unit_cost IS NULL), false) AS is_missing_
  FROM units_ ASOF LEFT JOIN unit_costs AS cost_of_
    ON cost_of_.sku = units_.sku AND cost_of_.currency = units_.currency AND units_.day_ >= cost_of_.valid_from
  GROUP BY ALL
), known_ AS (
  SELECT sku, string_agg(DISTINCT currency, ', ' ORDER BY currency) AS currencies_ FROM unit_costs GROUP BY sku
), first_ AS (
  SELECT sku, currency, min(valid_from) AS first_day_ FROM unit_costs GROUP BY sku, currency
), rows_ AS (
  SELECT sums_.account, sums_.month, sums_.currency, sums_.sku, coalesce(units, 0) AS units, coalesce(refunded_units, 0) AS refunded_units,
    sales, promotions, fees, taxes, refunds, reimbursements, ads, earned,
    CASE
      WHEN NOT EXISTS (FROM unit_costs) THEN 'no costs are given'
      WHEN NOT coalesce(is_missing_, false) THEN NULL
      WHEN first_day_ IS NOT NULL THEN 'none before ' || first_day_
      WHEN currencies_ IS NOT NULL THEN 'in ' || currencies_ || ' only'
      ELSE 'none of this SKU'
    END AS missing_cost,
    coalesce(cost_, 0) AS cost_
  FROM sums_
    LEFT JOIN costed_ ON costed_.account = sums_.account AND costed_.month = sums_.month
      AND costed_.currency IS NOT DISTINCT FROM sums_.currency AND costed_.sku IS NOT DISTINCT FROM sums_.sku
    LEFT JOIN known_ ON known_.sku = sums_.sku
    LEFT JOIN first_ ON first_.sku = sums_.sku AND first_.currency = sums_.currency
)
SELECT * EXCLUDE (missing_cost, cost_),
  CASE WHEN missing_cost IS NULL THEN -cost_ END AS cost,
  earned + cost AS net_margin,
  missing_cost
FROM rows_
