-- One row for each net amount of the settlements `ids` (a JSON array) of paid transactions, with the names of v0: the columns of
-- `settlement_lines` that transactions tell, event_list, and role. What transactions split into base, tax and promotion is one amount. The
-- rows of a settlement follow each other, by time.
--
-- amount: a decimal text.
WITH amounts_ AS (
  SELECT amount_.*, transaction_.marketplace, shipment_id, quantity, fulfillment_network,
    -- An amount that no sum has stands by itself.
    CASE
      WHEN bool_or(amount_.amount_text IS NOT NULL) OVER (PARTITION BY account, event_id, charge) THEN CAST(entry AS VARCHAR)
      ELSE coalesce(charge, CAST(entry AS VARCHAR))
    END AS line_
  FROM paid_amounts AS amount_
    JOIN transaction_entries AS entry_ USING (account, event_id, entry)
    JOIN transactions AS transaction_ USING (account, event_id)
  WHERE account = $account AND amount_.group_id IN (SELECT unnest(from_json($ids, '["VARCHAR"]'))) AND amount_.role = 'net'
)
SELECT group_id, role, event_list,
  CASE
    WHEN starts_with(arg_min(name, entry), 'CostOfPoints') THEN 'points'
    WHEN event_list IN ('Retrocharge', 'ProductAdsPayment', 'SellerDealPayment') AND arg_min(kind, entry) = 'charge' THEN 'tax'
    ELSE arg_min(kind, entry)
  END AS kind,
  v0_name(
    arg_min(kind, entry),
    amount_name(event_list, coalesce(arg_min(name, entry), regexp_extract(arg_min(path, entry), '[^.]*$')))
  ) AS name,
  CAST(sum(amount) AS VARCHAR) AS amount, any_value(amount_text) AS amount_text, currency, effective_at AS posted_at,
  amazon_order_id AS order_id, shipment_id, marketplace, sku, quantity, fulfillment_network AS fulfillment_id
FROM amounts_
GROUP BY group_id, role, event_list, currency, effective_at, amazon_order_id, shipment_id, marketplace, sku, quantity, fulfillment_network, event_id, line_
ORDER BY group_id, posted_at, event_id, min(entry)
