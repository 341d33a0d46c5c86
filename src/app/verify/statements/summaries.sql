-- One row for each summary of a settlement.
--
-- starts, ends: milliseconds since 1970; net: a decimal text.
SELECT settlement_id, epoch_ms(period_start) AS starts, epoch_ms(period_end) AS ends, CAST(net_proceeds AS VARCHAR) AS net, currency
FROM settlement_summaries
