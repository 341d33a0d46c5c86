-- One row for each settlement of an account: the columns of `groups`.
--
-- started, ended, paid: milliseconds since 1970; total, beginning, converted_total: decimal texts.
SELECT group_id, processing_status, epoch_ms(started_at) AS started, epoch_ms(ended_at) AS ended,
  CAST(original_total AS VARCHAR) AS total, original_currency, CAST(beginning_balance AS VARCHAR) AS beginning, beginning_currency,
  fund_transfer_status, epoch_ms(fund_transfer_at) AS paid, trace_id, CAST(converted_total AS VARCHAR) AS converted_total,
  converted_currency
FROM groups
WHERE account = $account
