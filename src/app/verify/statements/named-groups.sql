-- One row for each settlement that transactions name together with its group.
SELECT DISTINCT account, settlement_id, group_id
FROM nets
WHERE settlement_id IS NOT NULL AND group_id IS NOT NULL
