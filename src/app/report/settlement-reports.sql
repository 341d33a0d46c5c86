-- One row for each settlement report that overlaps a range, and source that it is compared with, the newest report first.
--
-- source: empty where the report has no amounts; total, lake: the sums of both; explained: number of differences that joining, labels and
-- days explain; not_in_v0, not_loaded, unexplained: numbers of the others; apart: what the last ones add up to.
WITH lake_ AS (
  SELECT settlement_id, source, coalesce(sum(amount) FILTER (NOT is_report), 0) AS lake
  FROM settlement_items
  WHERE account = $account
  GROUP BY settlement_id, source
), differing_ AS (
  SELECT settlement_id, source,
    count(*) FILTER (reason IN ('split', 'renamed', 'other day')) AS explained,
    count(*) FILTER (reason = 'not in v0') AS not_in_v0,
    count(*) FILTER (reason = 'not loaded') AS not_loaded,
    count(*) FILTER (reason = 'unexplained') AS unexplained,
    coalesce(sum(difference) FILTER (reason = 'unexplained'), 0) AS apart
  FROM settlement_differences
  WHERE account = $account
  GROUP BY settlement_id, source
)
SELECT settlement_id, coalesce(currency, '') AS currency, started_at, ended_at, source, total_amount AS total, lake,
  explained, not_in_v0, not_loaded, unexplained, apart
FROM settlement_reports
  LEFT JOIN lake_ USING (settlement_id)
  LEFT JOIN differing_ USING (settlement_id, source)
WHERE account = $account AND started_at < $to AND ended_at >= $from
ORDER BY started_at DESC, settlement_id, source
