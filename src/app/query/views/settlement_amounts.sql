-- One row for each amount of a settlement: the entries of v0's settlements, and the amounts of released transactions for
-- settlements without events of v0.
--
-- The columns are those of `group_entries` that both have, and category.
SELECT account, group_id, effective_at, event_id, entry, event_list, kind, name, amazon_order_id, sku, role, amount, amount_text,
  currency, category_of(event_list, kind, name) AS category
FROM group_entries
UNION ALL
SELECT account, group_id, effective_at, event_id, entry, event_list, kind, name, amazon_order_id, sku, role, amount, amount_text,
  currency, category
FROM later_amounts
WHERE is_paid AND group_id IS NOT NULL AND NOT EXISTS (
  FROM group_events WHERE group_events.account = later_amounts.account AND group_events.group_id = later_amounts.group_id
)
