-- One row for each settlement of `compared` with events that were not read by date as often.
--
-- Of events with a date only those of `covered` days. file, id: the least file and id of such content; events: number of them.
WITH wanted AS (
  SELECT account, content, count(*) AS times, min(group_id) AS group_id, min(file) AS file, min(id) AS id
  FROM seen SEMI JOIN compared USING (account, group_id)
  WHERE tab = 'group_events' AND (NOT dated OR EXISTS (
    SELECT 1
    FROM covered
    WHERE covered.account = seen.account AND seen.instant >= covered.starts AND seen.instant < covered.ends
  ))
  GROUP BY account, content
), stored AS (
  SELECT account, content, count(*) AS times
  FROM seen
  WHERE tab = 'events'
  GROUP BY account, content
)
SELECT account, group_id, min(file) AS file, min(id) AS id, sum(wanted.times - coalesce(stored.times, 0)) AS events
FROM wanted LEFT JOIN stored USING (account, content)
WHERE wanted.times > coalesce(stored.times, 0)
GROUP BY account, group_id
ORDER BY account, group_id
