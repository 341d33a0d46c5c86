-- One row for each amount of transaction_entries, with the lists, names and category of v0.
--
-- event_list: the list of v0 for the transaction's type, or that type; name: the last breakdown type except Base, Tax and Promo
-- (AmazonFees/Commission/Base: Commission); part: the last breakdown type; charge: what amounts that are the base, the tax and the
-- promotion of one charge have in common, null for an amount that is a charge by itself; is_paid, is_earned: whether it belongs to
-- that basis.
WITH trees_ AS (
  -- An adjustment whose items have no breakdowns: its types are in the tree of the transaction, which does not count beside them.
  SELECT account, month, event_id,
    any_value(amount) FILTER (path = 'totalAmount') AS total_,
    list({ breakdown: breakdown, amount: amount, category: category_of(transaction_type, kind, name) })
      FILTER (starts_with(path, 'breakdowns[]') AND name NOT IN ('Base', 'Tax', 'Promo')) AS nodes_
  FROM transaction_entries
  WHERE transaction_type = 'Adjustment' AND role = 'memo'
  GROUP BY ALL
), adjustments_ AS (
  -- Those whose leaves have one category and add up to the total.
  SELECT account, month, event_id,
    [
      node FOR node IN nodes_
      IF NOT list_bool_or([starts_with(other.breakdown, node.breakdown || '/') FOR other IN nodes_])
    ] AS leaves_,
    list_distinct([leaf.category FOR leaf IN leaves_ IF leaf.amount <> 0]) AS categories_
  FROM trees_
  WHERE len(categories_) = 1 AND list_sum([leaf.amount FOR leaf IN leaves_]) = total_
)
SELECT
  account,
  -- The partition where the zone allows it, so that a condition on the month decides which files are opened.
  CASE WHEN time_zone() = 'UTC' THEN month ELSE month_of(effective_at) END AS month,
  effective_at, event_id, entry, marketplace_id, amazon_order_id, sku, path, kind, role, amount, amount_text, currency,
  CASE transaction_type
    WHEN 'Shipment' THEN 'ShipmentEventList'
    WHEN 'Refund' THEN 'RefundEventList'
    ELSE coalesce(transaction_type, '')
  END AS event_list,
  regexp_extract(regexp_replace(breakdown, '(.)/(?:Base|Tax|Promo)$', '\1'), '[^/]+$') AS name,
  group_id,
  -- By the last breakdown type that says what the amount is, also where v0 has another name (Expenses/Tax).
  coalesce(
    CASE WHEN entry_.name IS NULL THEN categories_[1] END,
    category_of(
      transaction_type,
      kind,
      CASE WHEN entry_.name IN ('Base', 'Promo') THEN regexp_extract(breakdown, '([^/]+)/[^/]+$', 1) ELSE entry_.name END
    )
  ) AS category,
  CASE
    WHEN regexp_matches(breakdown, './(?:Base|Tax|Promo)$') THEN concat_ws(' ', event_id, item, regexp_replace(breakdown, '/[^/]+$', ''))
  END AS charge,
  entry_.name AS part,
  item, quantity,
  coalesce(status = 'RELEASED', false) AS is_paid,
  status IS DISTINCT FROM 'RELEASED' OR deferred_transaction_id IS NULL AS is_earned
FROM transaction_entries AS entry_
  LEFT JOIN adjustments_ USING (account, month, event_id)
