-- Orders of each SKU that were refunded
--
-- One row for each account and SKU, the highest rate first: the number of orders from a month on that were shipped, and that had a
-- refund, a guarantee claim or a chargeback (refunded), and these of each 100 shipped (rate). Transactions have guarantee claims and
-- chargebacks as refunds; of v0 the condition event_list = 'RefundEventList' leaves them out. A refund may be of an order that was
-- shipped before.
--
-- $from: month = newest - 2, the first month
-- $orders: count = 10, the fewest shipped orders of a SKU
-- $limit: count = 20, SKUs of an account
SELECT account, sku,
  count(DISTINCT amazon_order_id) FILTER (event_list = 'ShipmentEventList') AS shipped,
  count(DISTINCT amazon_order_id) FILTER (category = 'refunds') AS refunded,
  percent_of(refunded, shipped) AS rate
FROM ledger_amounts
WHERE role = 'net' AND month >= $from AND sku IS NOT NULL AND (category = 'refunds' OR event_list = 'ShipmentEventList')
GROUP BY account, sku
HAVING shipped >= $orders
QUALIFY row_number() OVER (PARTITION BY account ORDER BY rate DESC, shipped DESC, sku) <= $limit
ORDER BY account, rate DESC, shipped DESC, sku
