-- One row for each summary of a settlement.
--
-- file: the number of its file; starts, ends: milliseconds since 1970; total: its net proceeds, a decimal text.
SELECT 'settlement_summaries' AS tab, account, "source file" AS file, settlement_id AS id, epoch_ms(period_start) AS starts,
  epoch_ms(period_end) AS ends, CAST(net_proceeds AS VARCHAR) AS total, currency
FROM settlement_summaries
