-- Refunds by month
--
-- One row for each account, currency and month, the newest first: the number of orders that were shipped, and that had a refund, a
-- guarantee claim or a chargeback (refunded), these of each 100 shipped (rate), and what each of the three cost. Transactions have
-- guarantee claims and chargebacks as refunds, so that these two are null of a month with transactions; of v0 the condition
-- event_list = 'RefundEventList' leaves them out.
--
-- $from: month = newest - 12, the first month
SELECT account, currency, month,
  count(DISTINCT amazon_order_id) FILTER (event_list = 'ShipmentEventList') AS shipped,
  count(DISTINCT amazon_order_id) FILTER (category = 'refunds') AS refunded,
  percent_of(refunded, shipped) AS rate,
  coalesce(sum(amount) FILTER (event_list = 'RefundEventList'), 0) AS refunds,
  CASE WHEN bool_and(source = 'v0') THEN coalesce(sum(amount) FILTER (event_list = 'GuaranteeClaimEventList'), 0) END
    AS guarantee_claims,
  CASE WHEN bool_and(source = 'v0') THEN coalesce(sum(amount) FILTER (event_list = 'ChargebackEventList'), 0) END AS chargebacks
FROM ledger_amounts
WHERE role = 'net' AND month >= $from AND (category = 'refunds' OR event_list = 'ShipmentEventList')
GROUP BY account, currency, month
ORDER BY account, currency, month DESC
