-- One row for each place of amounts that an account's figures lack, the most frequent first.
--
-- warning: `role`: the model doesn't know the place; `kind`: it doesn't know what the net amount is (the net proceeds have it, what
-- was earned has not); `inexact`: DECIMAL(18,6) cannot hold the amount, or it is no number. times: number of amounts; total: their
-- sum; example: an inexact amount as received, null where it is no number.
SELECT 'role' AS warning, coalesce(currency, '') AS currency, event_list, path, '' AS name, role, count(*) AS times,
  sum(amount) AS total, CAST(NULL AS VARCHAR) AS example
FROM ledger_amounts
WHERE account = $account AND role = 'unknown' AND effective_at >= $from AND effective_at < $to
GROUP BY ALL
UNION ALL
SELECT 'kind', coalesce(currency, '') AS currency, event_list, path, coalesce(name, '') AS name, role, count(*), sum(amount), NULL
FROM ledger_amounts
WHERE account = $account AND role = 'net' AND category = 'unknown' AND effective_at >= $from AND effective_at < $to
GROUP BY ALL
UNION ALL
SELECT 'inexact', coalesce(currency, '') AS currency, event_list, path, '' AS name, role, count(*), NULL, min(amount_text)
FROM ledger_amounts
WHERE account = $account AND amount IS NULL AND effective_at >= $from AND effective_at < $to
GROUP BY ALL
ORDER BY warning, times DESC, currency, event_list, path, name, role
