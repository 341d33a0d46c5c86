-- One row for each movement of what the marketplace owes an account: the sum of all before an instant is what was open then.
--
-- effective_at: its instant; line: `by date` for the net amounts; `paid out` for payouts, on the day of their deposit; the others lead from one to
-- the other: `in no loaded settlement` and `in a settlement, not by date` as in reconciliation; `on other days`, which is 0 in all: the
-- days that events without a date have in settlements, instead of those by date; `beginning balances`, without what the settlement
-- before carried over; `settlements without events` and `not explained`: the remainder of a closed settlement, on the day it ended;
-- group_id: the settlement, null where a movement is not of one.
WITH closed_ AS (
  SELECT * FROM groups WHERE processing_status = 'Closed'
), settled_ AS (
  SELECT account, group_id, currency, effective_at, sum(amount) AS amount
  FROM group_entries ANTI JOIN transaction_spans USING (account)
  WHERE role = 'net'
  GROUP BY ALL
), dated_ AS (
  SELECT account, currency, effective_at, sum(amount) AS amount
  FROM entries ANTI JOIN transaction_spans USING (account)
  WHERE role = 'net'
  GROUP BY ALL
), sums_ AS (
  SELECT account, group_id, currency, sum(amount) AS amount FROM settled_ GROUP BY ALL
  UNION ALL
  SELECT account, group_id, currency, sum(amount)
  FROM later_amounts SEMI JOIN transaction_spans USING (account)
  WHERE is_paid AND role = 'net'
  GROUP BY ALL
), remainders_ AS (
  SELECT account, group_id, original_currency AS currency, original_total - coalesce(beginning_balance, 0) AS amount FROM closed_
  UNION ALL
  SELECT account, group_id, currency, -amount FROM sums_
)
SELECT account, currency, effective_at, 'by date' AS line, amount, CAST(NULL AS VARCHAR) AS group_id FROM dated_
UNION ALL
SELECT account, currency, effective_at, 'by date', sum(amount), NULL
FROM ledger_amounts SEMI JOIN transaction_spans USING (account)
WHERE role = 'net'
GROUP BY ALL
UNION ALL
SELECT account, currency, effective_at, line, amount, NULL FROM reconciliation_events
UNION ALL
SELECT account, currency, effective_at, 'on other days', sum(amount), NULL
FROM (
  SELECT account, currency, effective_at, amount FROM settled_
  UNION ALL
  SELECT account, currency, effective_at, -amount FROM dated_
  UNION ALL
  SELECT account, currency, effective_at, -amount FROM reconciliation_events ANTI JOIN transaction_spans USING (account)
)
GROUP BY ALL
HAVING sum(amount) <> 0
UNION ALL
SELECT account, beginning_currency, started_at, 'beginning balances', beginning_balance, group_id FROM groups WHERE beginning_balance <> 0
UNION ALL
SELECT payout_.account, payout_.currency, later_.started_at, 'beginning balances', -payout_.original_total, carried_to
FROM settlement_payouts AS payout_ JOIN groups AS later_ ON later_.account = payout_.account AND later_.group_id = payout_.carried_to
UNION ALL
SELECT account, remainder_.currency, ended_at,
  CASE
    WHEN NOT EXISTS (FROM sums_ WHERE sums_.account = closed_.account AND sums_.group_id = closed_.group_id)
      THEN 'settlements without events'
    WHEN started_at < first_at OR ended_at > last_at THEN 'in a settlement, not by date'
    ELSE 'not explained'
  END,
  sum(remainder_.amount),
  group_id
FROM closed_
  JOIN remainders_ AS remainder_ USING (account, group_id)
  LEFT JOIN transaction_spans USING (account)
GROUP BY ALL
HAVING sum(remainder_.amount) <> 0
UNION ALL
SELECT account, original_currency, coalesce(fund_transfer_at, ended_at), 'paid out', -original_total, group_id
FROM closed_
WHERE fund_transfer_status = 'Succeeded'
