-- One row for each settlement report and source that is loaded.
--
-- lines, not_loaded: number of differences that nothing explains, and of those that are not loaded; apart: what the first add up to, a
-- decimal text.
WITH compared_ AS (
  SELECT account, settlement_id, any_value(group_id) AS group_id, source
  FROM settlement_items
  GROUP BY account, settlement_id, source
), differing_ AS (
  SELECT account, settlement_id, source, count(*) FILTER (reason = 'unexplained') AS unexplained,
    count(*) FILTER (reason = 'not loaded') AS not_loaded, sum(difference) FILTER (reason = 'unexplained') AS apart
  FROM settlement_differences
  GROUP BY account, settlement_id, source
)
SELECT account, settlement_id, group_id, source, coalesce(unexplained, 0) AS unexplained, coalesce(not_loaded, 0) AS not_loaded,
  CAST(coalesce(apart, 0) AS VARCHAR) AS apart
FROM compared_ LEFT JOIN differing_ USING (account, settlement_id, source)
ORDER BY ALL
