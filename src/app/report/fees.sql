-- One row for each currency and fee, the largest first, and one for all fees of a currency beyond the first `most`.
--
-- fee: its name, null for the others; list: the event list of all of its amounts, null for several; fees: number of fees in the
-- row; times: number of charges, of which one that is split into base, tax and promotion is one; total: their sum.
WITH named AS (
  SELECT coalesce(currency, '') AS currency, fee, only_value(event_list) AS list, sum(times) AS times, coalesce(sum(amount), 0) AS total
  FROM fee_charges
  WHERE account = $account AND effective_at >= $from AND effective_at < $to
  GROUP BY ALL
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY currency ORDER BY abs(total) DESC, fee) AS rank FROM named
)
SELECT currency, CASE WHEN rank <= $most THEN fee END AS fee, CASE WHEN min(rank) <= $most THEN min(list) END AS list,
  count(*) AS fees, sum(times) AS times, sum(total) AS total, min(rank) AS first_rank
FROM ranked
GROUP BY currency, CASE WHEN rank <= $most THEN fee END
ORDER BY currency, first_rank
