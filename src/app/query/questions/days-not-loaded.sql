-- Days that are not loaded
--
-- One row for each account, table (source) and gap between its first loaded day and a last one: from when until when nothing is loaded,
-- and how many days that is. Imported days count as loaded.
--
-- $until: date = 0 days ago, the day until which days should be loaded
WITH spans_ AS (
  SELECT source, account, starts_at AS from_, ends_at AS to_ FROM loaded_spans()
  UNION ALL
  SELECT DISTINCT source, account, epoch_ms(CAST($until AS TIMESTAMPTZ)), epoch_ms(CAST($until AS TIMESTAMPTZ)) FROM loaded_spans()
), gaps_ AS (
  SELECT source, account, from_ AS end_,
    max(to_) OVER (PARTITION BY source, account ORDER BY from_, to_ ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS start_
  FROM spans_
)
SELECT account, source, make_timestamptz(start_ * 1000) AS missing_from, make_timestamptz(end_ * 1000) AS missing_to,
  CAST((end_ - start_) / 86400000 AS DECIMAL(9,1)) AS days
FROM gaps_
WHERE end_ > start_
ORDER BY account, source, missing_from
