-- One row for each net amount of the settlements `ids` (a JSON array) of v0, and for each amount of unknown role: the columns of
-- `settlement_lines` that v0 tells, event_list, and role. The rows of a settlement follow each other, in the order of receipt.
--
-- amount: a decimal text.
SELECT group_id, role, event_list, kind, amount_name(event_list, coalesce(name, regexp_extract(path, '[^.]*$'))) AS name,
  CAST(amount AS VARCHAR) AS amount, amount_text, entry_.currency, entry_.posted_at, entry_.amazon_order_id AS order_id,
  event_.seller_order_id AS merchant_order_id, entry_.marketplace, entry_.order_item_id, entry_.sku, entry_.quantity
FROM group_entries AS entry_ JOIN group_events AS event_ USING (account, month, group_id, event_id, event_list)
WHERE account = $account AND group_id IN (SELECT unnest(from_json($ids, '["VARCHAR"]'))) AND role <> 'memo'
ORDER BY group_id, position, entry
