-- One row for each settlement of which some events were forgotten: its events don't have positions from 0 on without a gap.
SELECT group_id
FROM group_events
WHERE account = $account
GROUP BY group_id
HAVING count(*) <> max(position) + 1
