-- One row for each settlement that the transfer of a later one paid: its id, that of the later one, and when.
SELECT group_id, paid_by, paid_at
FROM settlement_payouts
WHERE account = $account AND paid_by <> group_id
ORDER BY group_id
