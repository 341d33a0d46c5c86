-- One row for each currency and month, and one for all months of a currency: an account's orders in a range.
--
-- of_month: null for all months, in which an order of two months counts once; shipped, refunded: number of orders.
SELECT coalesce(currency, '') AS currency, CASE WHEN grouping(month) = 0 THEN month END AS of_month,
  count(DISTINCT amazon_order_id) FILTER (event_list = 'ShipmentEventList') AS shipped,
  count(DISTINCT amazon_order_id) FILTER (event_list = 'RefundEventList') AS refunded
FROM ledger_amounts
WHERE account = $account AND role = 'net' AND effective_at >= $from AND effective_at < $to
  AND event_list IN ('ShipmentEventList', 'RefundEventList')
GROUP BY GROUPING SETS ((coalesce(currency, ''), month), (coalesce(currency, '')))
ORDER BY currency, of_month NULLS LAST
