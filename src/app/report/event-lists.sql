-- One row for each event list of an account in a range: its number of events by date (`events`) and by settlement (`group_events`).
SELECT event_list, count(*) FILTER (by_date) AS events, count(*) FILTER (NOT by_date) AS group_events
FROM (
  SELECT event_list, true AS by_date
  FROM events
  WHERE account = $account AND effective_at >= $from AND effective_at < $to
  UNION ALL
  SELECT event_list, false
  FROM group_events
  WHERE account = $account AND effective_at >= $from AND effective_at < $to
)
GROUP BY event_list
ORDER BY events DESC, event_list
