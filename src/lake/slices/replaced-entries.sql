-- One row for each of `entries_`: its columns, and whether its event is replaced ("is replaced").
--
-- events_: one row for each event of the bundle, with the same. An event that occurs several times has as many sets of equal entries, of
-- which each side gets as many as it has events.
SELECT numbered_.* EXCLUDE (nth), coalesce(nth <= times, false) AS "is replaced"
FROM (
  SELECT *, 1 AS nth
  FROM entries_
  WHERE event_id NOT IN (SELECT event_id FROM events_ GROUP BY event_id HAVING count(*) > 1)
  UNION ALL
  -- To number them all would take memory.
  SELECT *, row_number() OVER (PARTITION BY event_id, effective_at, entry ORDER BY file_row_number) AS nth
  FROM entries_
  WHERE event_id IN (SELECT event_id FROM events_ GROUP BY event_id HAVING count(*) > 1)
) AS numbered_ LEFT JOIN (
  SELECT event_id, effective_at, count(*) AS times
  FROM events_
  WHERE "is replaced"
  GROUP BY event_id, effective_at
) AS replaced_ ON replaced_.event_id = numbered_.event_id AND replaced_.effective_at IS NOT DISTINCT FROM numbered_.effective_at
