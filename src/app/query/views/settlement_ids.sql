-- One row for each settlement whose number in settlement reports is known: account, group_id and settlement_id. Transactions name it;
-- else it is that of the report with the same start and end (to the second), currency and total, where one report and one group have these.
WITH named_ AS (
  SELECT account, group_id, any_value(settlement_id) AS settlement_id
  FROM later_events
  WHERE group_id IS NOT NULL AND settlement_id IS NOT NULL
  GROUP BY ALL
  HAVING count(DISTINCT settlement_id) = 1
), groups_ AS (
  SELECT account, date_trunc('second', started_at) AS started_at_, date_trunc('second', ended_at) AS ended_at_,
    original_currency AS currency, original_total AS total_amount, any_value(group_id) AS group_id
  FROM groups ANTI JOIN named_ USING (account, group_id)
  WHERE processing_status = 'Closed' AND group_id IS NOT NULL
  GROUP BY ALL
  HAVING count(*) = 1
), reports_ AS (
  SELECT account, date_trunc('second', started_at) AS started_at_, date_trunc('second', ended_at) AS ended_at_, currency, total_amount,
    any_value(settlement_id) AS settlement_id
  FROM settlement_reports ANTI JOIN named_ USING (account, settlement_id)
  GROUP BY ALL
  HAVING count(*) = 1
)
FROM named_
UNION ALL
SELECT account, group_id, settlement_id
FROM groups_ JOIN reports_ USING (account, started_at_, ended_at_, currency, total_amount)
