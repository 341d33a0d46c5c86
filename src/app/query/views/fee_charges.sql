-- One row for each charge of a fee. Those of an account's transactions at one instant are one row.
--
-- fee: its name; times: the number of charges: one that transactions split into base, tax and promotion is one; amount: their sum;
-- unsummed: the number of amounts that no sum has.
WITH fees_ AS NOT MATERIALIZED (
  SELECT source, account, month, effective_at, event_list, amount_name(event_list, name) AS fee, currency, amount,
    CAST(amount IS NULL AS BIGINT) AS unsummed_, charge, CASE WHEN charge IS NOT NULL THEN part END AS part_
  FROM ledger_amounts
  WHERE role = 'net' AND category = 'fees'
    -- A flat transaction has an empty wrapper in addition to the one with its amounts.
    AND coalesce(amount <> 0 OR name NOT IN ('Sales', 'Expenses'), true)
), parts_ AS (
  SELECT * EXCLUDE (amount, unsummed_), count(*) AS lines_, sum(amount) AS amount_, sum(unsummed_) AS unsummed_
  FROM fees_
  WHERE source <> 'v0'
  GROUP BY ALL
)
SELECT account, month, effective_at, event_list, fee, currency, 1 AS times, amount, unsummed_ AS unsummed
FROM fees_
WHERE source = 'v0'
UNION ALL
SELECT account, month, effective_at, event_list, fee, currency, CASE WHEN charge IS NULL THEN sum(lines_) ELSE max(lines_) END,
  sum(amount_), sum(unsummed_)
FROM parts_
GROUP BY account, month, effective_at, event_list, fee, currency, charge
