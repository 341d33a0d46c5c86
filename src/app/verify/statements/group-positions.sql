-- One row for each settlement with events: whether they don't have positions from 0 on without a gap.
SELECT account, group_id, count(*) <> max(position) + 1 AS has_gaps
FROM seen
WHERE tab = 'group_events'
GROUP BY account, group_id
