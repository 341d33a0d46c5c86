-- One row for each instant of the `most` largest net amounts of the settlements `ids` (a JSON array): microseconds since 1970.
WITH net AS NOT MATERIALIZED (
  SELECT group_id, amount, effective_at
  FROM settlement_amounts
  WHERE account = $account AND role = 'net' AND amount IS NOT NULL
    AND group_id IN (SELECT unnest(from_json($ids, '["VARCHAR"]')))
), bounds AS (
  SELECT group_id, list_min(max(abs(amount), $most)) AS least FROM net GROUP BY group_id
), large AS (
  SELECT effective_at
  FROM net JOIN bounds USING (group_id)
  WHERE abs(amount) >= least
  QUALIFY row_number() OVER (PARTITION BY group_id ORDER BY abs(amount) DESC, effective_at) <= $most
)
SELECT DISTINCT epoch_us(effective_at) AS micros
FROM large
ORDER BY micros
