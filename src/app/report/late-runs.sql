-- One row for each of the `most` newest runs that found an account's events of a range changed.
--
-- seen_at: when; appeared, vanished: number of events; earliest, latest: the first and last date of one; runs, changes: number of
-- runs and of changed events in all.
SELECT seen_at, count(*) FILTER (change = 'appeared') AS appeared, count(*) FILTER (change = 'vanished') AS vanished,
  min(effective_at) AS earliest, max(effective_at) AS latest, count(*) OVER () AS runs, sum(count(*)) OVER () AS changes
FROM event_history
WHERE account = $account AND source = 'events' AND effective_at >= $from AND effective_at < $to
GROUP BY seen_at
ORDER BY seen_at DESC
LIMIT $most
