-- One row for each currency and fee, the largest first, and one for all fees of a currency beyond the first `most`.
--
-- fee: its name, null for the others; list: the event list of all of its amounts, null for several; fees: number of fees in the
-- row; times: number of charges, of which one that is split into base, tax and promotion is one; total: their sum.
WITH parts AS (
  SELECT coalesce(currency, '') AS currency, month, event_list, kind, name, charge, part,
    count(*) AS lines, sum(amount) AS total
  FROM ledger_amounts
  WHERE account = $account AND role = 'net' AND effective_at >= $from AND effective_at < $to AND category = 'fees'
    -- A flat transaction has an empty wrapper in addition to the one with its amounts.
    AND coalesce(amount <> 0 OR name NOT IN ('Sales', 'Expenses'), true)
  GROUP BY ALL
), charges AS (
  SELECT currency, month, event_list, kind, name,
    CASE WHEN charge IS NULL THEN sum(lines) ELSE max(lines) END AS times, sum(total) AS total
  FROM parts
  GROUP BY currency, month, event_list, kind, name, charge
), sums AS (
  SELECT currency, month, event_list, kind, name, sum(times) AS times, coalesce(sum(total), 0) AS total
  FROM charges
  GROUP BY ALL
), named AS (
  SELECT currency, amount_name(event_list, name) AS fee, sum(times) AS times, sum(total) AS total,
    CASE WHEN min(event_list) = max(event_list) THEN min(event_list) END AS list
  FROM sums
  GROUP BY ALL
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY currency ORDER BY abs(total) DESC, fee) AS rank FROM named
)
SELECT currency, CASE WHEN rank <= $most THEN fee END AS fee, CASE WHEN min(rank) <= $most THEN min(list) END AS list,
  count(*) AS fees, sum(times) AS times, sum(total) AS total, min(rank) AS first_rank
FROM ranked
GROUP BY currency, CASE WHEN rank <= $most THEN fee END
ORDER BY currency, first_rank
