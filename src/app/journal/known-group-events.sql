-- The events of settlements as the lake held them at $known_at, with the columns that journals need: those of now without the ones that
-- appeared later, and those that have vanished since, of loaded_settlements.
WITH first_ AS (
  SELECT account, event_id, content_hash, change, effective_at, event_list, amazon_order_id, entries
  FROM event_history
  WHERE source = 'group_events' AND seen_at > $known_at
  QUALIFY row_number() OVER (PARTITION BY account, event_id ORDER BY seen_at) = 1
)
FROM (
  SELECT account, group_id, event_id, content_hash, effective_at, event_list, amazon_order_id, CAST(NULL AS VARCHAR) AS entries
  FROM group_events
    ANTI JOIN first_ USING (account, event_id)
  UNION ALL
  -- The id of an event of a settlement begins with that of its group.
  SELECT account, left(event_id, length(event_id) - length(regexp_extract(event_id, ':[^:]*$'))), event_id, content_hash, effective_at,
    event_list, amazon_order_id, entries
  FROM first_
  WHERE change = 'vanished'
) SEMI JOIN loaded_settlements USING (account, group_id)
