-- One row for each settlement of a report.
--
-- total, added: decimal texts; total is null where the report has none. unsummed: number of its lines that no sum has.
SELECT
  settlement_id,
  any_value(currency) AS currency,
  CAST(any_value(total_amount) AS VARCHAR) AS total,
  CAST(coalesce(any_value(lines.added), 0) AS DECIMAL(38, 6))::VARCHAR AS added,
  coalesce(any_value(lines.unsummed), 0) AS unsummed,
  any_value(settlement_reports.lines) = coalesce(any_value(lines.found), 0) AS is_whole
FROM settlement_reports
LEFT JOIN (
  SELECT settlement_id, sum(amount) AS added, count(amount_text) AS unsummed, count(*) AS found
  FROM settlement_lines
  GROUP BY settlement_id
) AS lines USING (settlement_id)
GROUP BY settlement_id
ORDER BY settlement_id
