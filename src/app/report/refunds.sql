-- One row for each currency and month, and one for all months of a currency: an account's orders in a range.
--
-- of_month: null for all months, in which an order of two months counts once; shipped: number of orders; refunded: those that had a
-- refund, a guarantee claim or a chargeback, as in the question refunds-by-month.
SELECT coalesce(currency, '') AS currency, CASE WHEN grouping(month) = 0 THEN month END AS of_month,
  count(DISTINCT amazon_order_id) FILTER (event_list = 'ShipmentEventList') AS shipped,
  count(DISTINCT amazon_order_id) FILTER (category = 'refunds') AS refunded
FROM ledger_amounts
WHERE account = $account AND role = 'net' AND effective_at >= $from AND effective_at < $to
  AND (category = 'refunds' OR event_list = 'ShipmentEventList')
GROUP BY GROUPING SETS ((coalesce(currency, ''), month), (coalesce(currency, '')))
ORDER BY currency, of_month NULLS LAST
