-- One row for each table of events: the number of those of an account in `windows`.
--
-- windows: a JSON array of spans that don't overlap, in milliseconds since 1970.
WITH spans AS (
  SELECT unnest(from_json($windows, '[{"start": "BIGINT", "end": "BIGINT"}]'), recursive := true)
)
SELECT tab, count(*) AS events
FROM seen JOIN spans ON instant >= spans.start AND instant < spans."end"
WHERE account = $account
GROUP BY tab
