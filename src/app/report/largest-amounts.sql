-- One row for each of the `most` largest net amounts of the settlements `ids` (a JSON array), the largest first. `instants` (a JSON
-- array, microseconds since 1970) are those of `largest-instants.sql`: ranking all of the wide rows takes ten times as long.
SELECT group_id, effective_at, event_list, kind, name, amazon_order_id, sku, amount, currency
FROM settlement_amounts
WHERE account = $account AND role = 'net' AND amount IS NOT NULL
  AND group_id IN (SELECT unnest(from_json($ids, '["VARCHAR"]')))
  AND effective_at IN (SELECT make_timestamptz(unnest(from_json($instants, '["BIGINT"]'))))
QUALIFY row_number() OVER (PARTITION BY group_id ORDER BY abs(amount) DESC, effective_at, event_id, entry) <= $most
ORDER BY group_id, abs(amount) DESC, effective_at, event_id, entry
