-- Orders that are not paid out
--
-- One row for each account, order, currency and state, the oldest first: what was earned before a date and was not paid by then. state:
-- deferred (a sale of transactions that is held until due), settlement open, transfer open (it has succeeded since), or what became of
-- the transfer of its settlement.
--
-- $at: date = tomorrow, the date, at its first instant
-- $limit: count = 100, orders of an account
WITH unpaid_ AS (
  SELECT account, amazon_order_id, settlement_amounts.currency,
    CASE
      WHEN groups.ended_at IS NULL OR groups.ended_at > CAST($at AS TIMESTAMPTZ) THEN 'settlement open'
      WHEN paid_by IS NOT NULL THEN 'transfer open'
      ELSE 'transfer ' || coalesce(groups.fund_transfer_status, 'unknown')
    END AS state,
    effective_at AS earned_at_, CAST(NULL AS TIMESTAMPTZ) AS due_, amount
  FROM settlement_amounts
    JOIN groups USING (account, group_id)
    LEFT JOIN settlement_payouts USING (account, group_id)
  WHERE role = 'net' AND effective_at < CAST($at AS TIMESTAMPTZ)
    AND (paid_by IS NULL OR paid_at >= CAST($at AS TIMESTAMPTZ))
  UNION ALL
  SELECT account, amazon_order_id, currency, 'deferred', earned_at, maturity_at, total_amount
  FROM outstanding_at($at)
)
SELECT account, amazon_order_id, currency, state, sum(amount) AS amount, min(earned_at_) AS since, max(due_) AS due
FROM unpaid_
WHERE amazon_order_id IS NOT NULL
GROUP BY account, amazon_order_id, currency, state
QUALIFY row_number() OVER (PARTITION BY account ORDER BY since, amazon_order_id, currency, state) <= $limit
ORDER BY account, since, amazon_order_id, currency, state
