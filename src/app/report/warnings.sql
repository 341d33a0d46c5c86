-- One row for each place of amounts that an account's figures lack, the most frequent first.
--
-- warning: `role`: the model doesn't know the place; `kind`: it doesn't know what the net amount is (the net proceeds have it, what
-- was earned has not); `inexact`: DECIMAL(18,6) cannot hold the amount, or it is no number. times: number of amounts; total: their
-- sum; example: an inexact amount as received, null where it is no number.
WITH places AS MATERIALIZED (
  SELECT coalesce(currency, '') AS currency, event_list, path, coalesce(name, '') AS name, role, category,
    amount IS NULL AS is_inexact, count(*) AS times, sum(amount) AS total, min(amount_text) AS example
  FROM ledger_amounts
  WHERE account = $account AND effective_at >= $from AND effective_at < $to
    AND (role = 'unknown' OR role = 'net' AND category = 'unknown' OR amount IS NULL)
  GROUP BY ALL
)
SELECT 'role' AS warning, currency, event_list, path, '' AS name, role, sum(times) AS times, sum(total) AS total,
  CAST(NULL AS VARCHAR) AS example
FROM places
WHERE role = 'unknown'
GROUP BY ALL
UNION ALL
SELECT 'kind', currency, event_list, path, name, role, sum(times), sum(total), NULL
FROM places
WHERE role = 'net' AND category = 'unknown'
GROUP BY ALL
UNION ALL
SELECT 'inexact', currency, event_list, path, '', role, sum(times), NULL, min(example)
FROM places
WHERE is_inexact
GROUP BY ALL
ORDER BY warning, times DESC, currency, event_list, path, name, role
