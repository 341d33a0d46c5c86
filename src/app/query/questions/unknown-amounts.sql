-- Amounts whose kind is not known
--
-- One row for each account, currency and place of such amounts, by problem and number. problem: `kind` where all sums have it, and only its
-- kind is not known, `category` where the net proceeds have it and what was earned has not, `role` where no sum has it, `inexact` where it
-- is no number or DECIMAL(18,6) cannot hold it.
WITH amounts_ AS (
  SELECT account, event_list, path, name, currency, amount, amount_text,
    CASE WHEN role = 'unknown' THEN 'role' WHEN amount IS NULL THEN 'inexact' WHEN category = 'unknown' THEN 'category' ELSE 'kind' END
      AS problem
  FROM ledger_amounts
  WHERE role = 'unknown' OR amount IS NULL OR role = 'net' AND (kind = 'unknown' OR category = 'unknown')
)
SELECT account, problem, event_list, path, name, currency, count(*) AS times, sum(amount) AS total, min(amount_text) AS example
FROM amounts_
GROUP BY account, problem, event_list, path, name, currency
ORDER BY account, list_position(['role', 'inexact', 'category', 'kind'], problem), times DESC, event_list, path, name, currency
