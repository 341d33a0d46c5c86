-- One row for each settlement of a settlement report.
--
-- file: the number of its file; starts, ends: milliseconds since 1970; total: a decimal text, null where the report has none.
SELECT 'settlement_reports' AS tab, account, min("source file") AS file, settlement_id AS id, epoch_ms(any_value(started_at)) AS starts,
  epoch_ms(any_value(ended_at)) AS ends, CAST(any_value(total_amount) AS VARCHAR) AS total, any_value(currency) AS currency
FROM settlement_reports
GROUP BY account, settlement_id
