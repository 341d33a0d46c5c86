-- Orders that are not paid out yet
--
-- One row for each account, order, currency and state, the oldest first: what was earned and is not paid. state: deferred (a sale of
-- transactions that is held until due), settlement open, or what became of the transfer of its settlement.
--
-- $at: date = 0 days ago, the day before which deferred sales were earned
-- $limit: count = 100, orders of an account
WITH unpaid_ AS (
  SELECT account, amazon_order_id, currency,
    CASE WHEN processing_status = 'Closed' THEN 'transfer ' || coalesce(groups.fund_transfer_status, 'unknown') ELSE 'settlement open' END
      AS state,
    effective_at AS earned_at_, CAST(NULL AS TIMESTAMPTZ) AS due_, amount
  FROM settlement_amounts
    JOIN groups USING (account, group_id)
    ANTI JOIN (FROM settlement_payouts WHERE paid_by IS NOT NULL) AS paid_ USING (account, group_id)
  WHERE role = 'net'
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
