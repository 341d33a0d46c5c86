-- One row for each account, month, currency and fee.
--
-- times: the number of charges: one that is split into base, tax and promotion is one; total: their sum; unsummed: the number of
-- amounts that no sum has.
WITH parts_ AS (
  SELECT account, month, currency, amount_name(event_list, name) AS fee, charge, CASE WHEN charge IS NOT NULL THEN part END AS part_,
    count(*) AS lines_, sum(amount) AS total_, count(*) FILTER (amount IS NULL) AS unsummed_
  FROM ledger_amounts
  WHERE role = 'net' AND category = 'fees'
    -- A flat transaction has an empty wrapper in addition to the one with its amounts.
    AND coalesce(amount <> 0 OR name NOT IN ('Sales', 'Expenses'), true)
  GROUP BY ALL
), charges_ AS (
  SELECT account, month, currency, fee, CASE WHEN charge IS NULL THEN sum(lines_) ELSE max(lines_) END AS times_,
    sum(total_) AS total_, sum(unsummed_) AS unsummed_
  FROM parts_
  GROUP BY account, month, currency, fee, charge
)
SELECT account, month, currency, fee, CAST(sum(times_) AS BIGINT) AS times, sum(total_) AS total,
  CAST(sum(unsummed_) AS BIGINT) AS unsummed
FROM charges_
GROUP BY account, month, currency, fee
ORDER BY account, currency, month, total
