-- One row for each currency and SKU, the one with the highest sales first, one for all SKUs of a currency beyond the first
-- `most`, and a last one for the amounts without a SKU.
--
-- sku: null for the last two; skus: number of SKUs in the row, 0 for the amounts without one; orders: number of shipped orders,
-- of which one with several SKUs counts for each; sales to unknown: the net amounts by category; net: their sum.
WITH sums AS (
  SELECT coalesce(currency, '') AS currency, sku,
    count(DISTINCT amazon_order_id) FILTER (event_list = 'ShipmentEventList') AS orders,
    unnest(net_by_category(category, amount)),
    sum(amount) AS net
  FROM ledger_amounts
  WHERE account = $account AND role = 'net' AND effective_at >= $from AND effective_at < $to
  GROUP BY coalesce(currency, ''), sku
), ranked AS (
  SELECT *, CASE WHEN sku IS NOT NULL
    THEN row_number() OVER (PARTITION BY currency, sku IS NULL ORDER BY sales DESC, sku) END AS rank
  FROM sums
)
SELECT currency, CASE WHEN rank <= $most THEN sku END AS sku, count(rank) AS skus, sum(orders) AS orders,
  sum(sales) AS sales, sum(promotions) AS promotions, sum(fees) AS fees, sum(taxes) AS taxes, sum(refunds) AS refunds,
  sum(reimbursements) AS reimbursements, sum(loans_and_transfers) AS loans_and_transfers, sum(unknown) AS unknown, sum(net) AS net,
  min(rank) AS first_rank
FROM ranked
GROUP BY currency, sku IS NULL, CASE WHEN rank <= $most THEN sku END
ORDER BY currency, first_rank NULLS LAST
