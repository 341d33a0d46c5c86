-- Everything about one order
--
-- One row for each net amount of the order, by date: from which API (source), the event, the SKU, the amount, and the settlement that
-- has it (group_id).
--
-- $order: text, the order's id; without one the last order that was refunded
SELECT account, effective_at, source, event_list, sku, category, amount_name(event_list, name) AS name, amount, currency, group_id
FROM ledger_amounts
WHERE role = 'net' AND amazon_order_id = coalesce($order, (
  SELECT max_by(amazon_order_id, (effective_at, event_id)) FROM ledger_amounts WHERE event_list = 'RefundEventList'
))
ORDER BY account, effective_at, event_id, entry
