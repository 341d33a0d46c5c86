-- One row for each amount of transaction_entries_paid, with the lists, names and category of v0.
--
-- event_list: the list of v0 for the transaction's type, or that type; name: the last breakdown type except Base, Tax and Promo
-- (AmazonFees/Commission/Base: Commission); part: the last breakdown type; charge: what amounts that are the base, the tax and the
-- promotion of one charge have in common, null for an amount that is a charge by itself.
SELECT
  account, month, effective_at, event_id, entry, amazon_order_id, sku, path, kind, role, amount, amount_text, currency,
  CASE transaction_type
    WHEN 'Shipment' THEN 'ShipmentEventList'
    WHEN 'Refund' THEN 'RefundEventList'
    ELSE coalesce(transaction_type, '')
  END AS event_list,
  regexp_extract(regexp_replace(breakdown, '(.)/(?:Base|Tax|Promo)$', '\1'), '[^/]+$') AS name,
  group_id,
  -- By the last breakdown type that says what the amount is, also where v0 has another name (Expenses/Tax).
  category_of(
    transaction_type,
    kind,
    CASE
      WHEN transaction_entries_paid.name IN ('Base', 'Promo') THEN regexp_extract(breakdown, '([^/]+)/[^/]+$', 1)
      ELSE transaction_entries_paid.name
    END
  ) AS category,
  CASE WHEN regexp_matches(breakdown, './(?:Base|Tax|Promo)$') THEN concat_ws(' ', event_id, item, path) END AS charge,
  transaction_entries_paid.name AS part
FROM transaction_entries_paid
