-- One row for each event list, kind and name of the settlements `ids` (a JSON array): their net amounts, the largest sums first.
-- One row for all sums of a settlement and currency beyond its first `most`.
--
-- event_list, kind, name: null for the others; lines: number of sums in the row; times: number of amounts; total: their sum.
WITH sums AS (
  SELECT group_id, currency, event_list, kind, name, count(*) AS times, sum(amount) AS total
  FROM settlement_amounts
  WHERE account = $account AND role = 'net' AND group_id IN (SELECT unnest(from_json($ids, '["VARCHAR"]')))
  GROUP BY ALL
), ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY group_id ORDER BY abs(total) DESC NULLS LAST, currency, event_list, kind, name
  ) AS rank
  FROM sums
), marked AS (
  SELECT *, rank <= $most AS shown FROM ranked
)
SELECT group_id, currency, CASE WHEN shown THEN event_list END AS event_list, CASE WHEN shown THEN kind END AS kind,
  CASE WHEN shown THEN name END AS name, count(*) AS lines, sum(times) AS times, sum(total) AS total, min(rank) AS first_rank
FROM marked
GROUP BY group_id, currency, shown, CASE WHEN shown THEN rank END, CASE WHEN shown THEN event_list END,
  CASE WHEN shown THEN kind END, CASE WHEN shown THEN name END
ORDER BY group_id, first_rank
