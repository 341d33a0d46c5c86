-- One row for each settlement whose group_id or settlement_id is $id; null where the lake does not know the other one.
WITH known_ AS (
  SELECT account, group_id, settlement_id FROM settlement_ids
  UNION ALL BY NAME
  SELECT account, group_id FROM groups
  UNION ALL BY NAME
  SELECT account, group_id FROM transactions
  UNION ALL BY NAME
  SELECT account, settlement_id FROM settlement_reports
)
SELECT account, max(group_id) AS group_id, max(settlement_id) AS settlement_id
FROM known_
WHERE group_id = $id OR settlement_id = $id
GROUP BY account
ORDER BY ALL
