-- The entries of known_group_events, with the columns that journals need.
SELECT account, known_.group_id, event_id, known_.event_list, known_.effective_at, known_.amazon_order_id, role, amount, currency
FROM group_entries JOIN known_group_events AS known_ USING (account, event_id)
WHERE known_.entries IS NULL
UNION ALL
SELECT account, group_id, event_id, event_list, effective_at, amazon_order_id, role, CAST(amount AS DECIMAL(18,6)), currency
FROM (
  SELECT * EXCLUDE (entries), unnest(from_json(entries, '[{"currency": "VARCHAR", "role": "VARCHAR", "amount": "VARCHAR"}]'), recursive := true)
  FROM known_group_events
  WHERE entries IS NOT NULL
)
