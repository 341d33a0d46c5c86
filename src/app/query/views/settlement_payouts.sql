-- One row for each closed settlement of v0, with its payout. What a transfer did not pay is the beginning balance of a later
-- settlement, whose transfer may fail too. A settlement refers only to one that begins after it, so that each chain ends.
--
-- carried_to: the settlement that began with the money; paid_by, paid_at: the one whose transfer paid it, null until a transfer
-- succeeds; payout: everything that this transfer paid; trace_id: of that transfer.
WITH RECURSIVE closed_ AS (
  SELECT *, fund_transfer_status IS NOT DISTINCT FROM 'Succeeded' AS is_paid_
  FROM groups
  WHERE processing_status = 'Closed'
), next_ AS (
  SELECT closed_.account, closed_.group_id, later_.group_id AS carried_to
  FROM closed_ JOIN groups AS later_ ON later_.account = closed_.account
    AND later_.beginning_balance = closed_.original_total
    AND later_.beginning_currency = closed_.original_currency
    AND later_.started_at >= closed_.ended_at
    AND later_.started_at > closed_.started_at
  WHERE NOT is_paid_ AND closed_.original_total <> 0
  QUALIFY row_number() OVER (PARTITION BY closed_.account, closed_.group_id ORDER BY later_.started_at, later_.group_id) = 1
), chain_ AS (
  SELECT account, group_id, group_id AS at_ FROM closed_
  UNION
  SELECT chain_.account, chain_.group_id, carried_to
  FROM chain_ JOIN next_ ON next_.account = chain_.account AND next_.group_id = chain_.at_
), paid_ AS (
  SELECT chain_.account, chain_.group_id, at_ AS paid_by, fund_transfer_at AS paid_at, original_total AS payout, trace_id
  FROM chain_ JOIN closed_ ON closed_.account = chain_.account AND closed_.group_id = at_ AND is_paid_
)
SELECT account, group_id, started_at, ended_at, original_total, original_currency AS currency, fund_transfer_status,
  carried_to, paid_by, paid_at, payout, paid_.trace_id
FROM closed_
  LEFT JOIN next_ USING (account, group_id)
  LEFT JOIN paid_ USING (account, group_id)
ORDER BY account, currency, started_at, group_id
