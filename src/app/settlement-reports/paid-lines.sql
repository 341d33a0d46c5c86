-- One row for each line of the settlements `ids` (a JSON array) of paid transactions, with the names of v0: the columns of `settlement_lines`
-- that transactions tell, event_list, and role. Base, tax and promotion of a fee of orders are one line, as are those of the fees `whole` (a
-- JSON array); what reports have as one line for an event is one; amounts of 0 have none. The rows of a settlement follow each other, by time.
--
-- amount: a decimal text; part: Base, Tax or Promo of a fee, Total of a line that has several.
WITH amounts_ AS (
  SELECT amount_.*, transaction_.marketplace, transaction_.shipment_id, transaction_.refund_id, entry_.fulfillment_network,
    amount_name(event_list, amount_.name) AS label_,
    event_list IN ('ProductAdsPayment', 'CouponPayment', 'SellerDealPayment', 'NetworkComminglingTransaction') AS is_joined_
  FROM transaction_amounts AS amount_
    JOIN transaction_entries AS entry_ USING (account, event_id, entry)
    JOIN transactions AS transaction_ USING (account, event_id)
  WHERE is_paid AND account = $account AND amount_.group_id IN (SELECT unnest(from_json($ids, '["VARCHAR"]'))) AND amount_.role = 'net'
), keyed_ AS (
  SELECT *,
    count(*) OVER (PARTITION BY account, event_id, charge) > 1 AS has_parts_,
    CASE
      -- An amount that no sum has is a line by itself.
      WHEN bool_or(amount_text IS NOT NULL) OVER (PARTITION BY account, event_id) THEN CAST(entry AS VARCHAR)
      WHEN is_joined_ OR name IS NULL THEN 'event'
      WHEN event_list IN ('ShipmentEventList', 'RefundEventList') OR label_ IN (SELECT unnest(from_json($whole, '["VARCHAR"]')))
      THEN coalesce(charge, CAST(entry AS VARCHAR))
      ELSE CAST(entry AS VARCHAR)
    END AS line_
  FROM amounts_
)
SELECT group_id, role, event_list,
  CASE
    WHEN event_list = 'NetworkComminglingTransaction' AND line_ = 'event' THEN 'tax'
    WHEN is_joined_ AND line_ = 'event' THEN 'fee'
    WHEN event_list = 'FBAInventoryReimbursement' THEN 'adjustment'
    WHEN starts_with(any_value(label_), 'CostOfPoints') THEN 'points'
    WHEN event_list = 'Retrocharge' AND arg_min(kind, entry) = 'charge' THEN 'tax'
    ELSE arg_min(kind, entry)
  END AS kind,
  CASE
    WHEN event_list = 'NetworkComminglingTransaction' AND line_ = 'event' THEN 'COMMINGLING_VAT'
    ELSE v0_name(arg_min(kind, entry), arg_min(label_, CASE WHEN kind = 'fee' THEN entry ELSE entry + 1000000 END))
  END AS name,
  CASE WHEN is_joined_ AND line_ = 'event' THEN 'Total' WHEN count(*) = 1 AND any_value(charge) IS NOT NULL AND bool_or(has_parts_) THEN any_value(part) END AS part,
  CAST(sum(amount) AS VARCHAR) AS amount, any_value(amount_text) AS amount_text, currency, effective_at AS posted_at,
  amazon_order_id AS order_id, refund_id AS adjustment_id, shipment_id, marketplace, CASE WHEN min(sku) = max(sku) THEN min(sku) END AS sku, CASE WHEN min(quantity) = max(quantity) THEN min(quantity) END AS quantity,
  CASE WHEN min(fulfillment_network) = max(fulfillment_network) THEN min(fulfillment_network) END AS fulfillment_id
FROM keyed_
GROUP BY account, group_id, role, event_list, is_joined_, currency, effective_at, amazon_order_id, refund_id, shipment_id, marketplace, event_id,
  line_
HAVING sum(amount) IS DISTINCT FROM 0
ORDER BY group_id, posted_at, event_id, min(entry)
