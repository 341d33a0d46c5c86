-- Promotions by month
--
-- One row for each account, currency and month, the newest first: the orders with a promotion, of all shipped orders, what promotions
-- cost, and what that is of each 100 of sales (rate).
--
-- $from: month = newest - 12, the first month
SELECT account, currency, month,
  count(DISTINCT amazon_order_id) FILTER (category = 'promotions' AND amount <> 0) AS orders_with_promotion,
  count(DISTINCT amazon_order_id) FILTER (event_list = 'ShipmentEventList') AS orders,
  coalesce(sum(amount) FILTER (category = 'promotions'), 0) AS promotions,
  percent_of(-promotions, sum(amount) FILTER (category = 'sales')) AS rate
FROM ledger_amounts
WHERE role = 'net' AND category IN ('sales', 'promotions') AND month >= $from
GROUP BY account, currency, month
ORDER BY account, currency, month DESC
