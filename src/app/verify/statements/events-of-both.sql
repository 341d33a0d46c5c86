-- One row: the numbers of an account's events of v0 and of its transactions in `windows`.
--
-- windows: a JSON array of spans that don't overlap, in milliseconds since 1970.
WITH spans AS (
  SELECT unnest(from_json($windows, '[{"start": "BIGINT", "end": "BIGINT"}]'), recursive := true)
)
SELECT count(*) FILTER (tab = 'events') AS events, count(*) FILTER (tab = 'transactions') AS transactions
FROM seen JOIN spans ON instant >= spans.start AND instant < spans."end"
WHERE account = $account AND tab IN ('events', 'transactions')
