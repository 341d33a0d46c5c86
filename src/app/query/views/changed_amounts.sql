-- One row for each event, transaction or line of a settlement report (`source`: its table) that appeared late or vanished, and
-- currency: the sum of its net amounts (`net`). A transfer has none, as it pays out what others are.
--
-- The amounts of what is not in the lake are those of its last row in `event_history`.
WITH all_ AS (
  SELECT 'events' AS source, account, event_id, currency, role, amount FROM entries
  UNION ALL
  SELECT 'group_events', account, event_id, currency, role, amount FROM group_entries
  UNION ALL
  SELECT 'order_events', account, event_id, currency, role, amount FROM order_entries
  UNION ALL
  SELECT 'transactions', account, event_id, currency, role, amount FROM transaction_entries
  UNION ALL
  SELECT 'order_transactions', account, event_id, currency, role, amount FROM order_transaction_entries
  UNION ALL
  SELECT 'settlement_lines', account, event_id, currency, 'net', amount FROM settlement_lines
), loaded_ AS (
  FROM all_ SEMI JOIN event_history USING (account, source, event_id)
), removed_ AS (
  SELECT account, source, event_id,
    CASE source
      WHEN 'settlement_lines' THEN [from_json(attributes, '{"currency": "VARCHAR", "role": "VARCHAR", "amount": "VARCHAR"}')]
      ELSE from_json(entries, '[{"currency": "VARCHAR", "role": "VARCHAR", "amount": "VARCHAR"}]')
    END AS amounts_
  FROM event_history ANTI JOIN loaded_ USING (account, source, event_id)
  WHERE coalesce(entries, attributes) IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY account, source, event_id ORDER BY seen_at DESC) = 1
), stored_ AS (
  SELECT account, source, event_id, unnest(amounts_, recursive := true) FROM removed_
)
SELECT account, source, event_id, coalesce(currency, '') AS currency, sum(amount) AS net
FROM (
  SELECT account, source, event_id, currency, role, amount FROM loaded_
  UNION ALL
  SELECT account, source, event_id, currency, role, CAST(amount AS DECIMAL(18,6)) FROM stored_
)
WHERE role = 'net' OR source = 'settlement_lines'
GROUP BY ALL
