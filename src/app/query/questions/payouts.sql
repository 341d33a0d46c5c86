-- Payouts, the newest first
--
-- One row for each closed settlement: its total, in its own currency and in that of the bank account (converted_total), the state of
-- its transfer, and the transfer that paid it, which may be a later one (paid_by), with everything that it paid (payout) and the id by
-- which the bank finds it (trace_id).
--
-- $limit: count = 20, settlements of an account
SELECT account, group_id, payouts_.started_at, payouts_.ended_at, payouts_.original_total AS total, currency, converted_total,
  converted_currency, payouts_.fund_transfer_status, paid_at, paid_by, payout, payouts_.trace_id
FROM settlement_payouts AS payouts_ JOIN groups USING (account, group_id)
QUALIFY row_number() OVER (PARTITION BY account ORDER BY payouts_.ended_at DESC, group_id) <= $limit
ORDER BY account, payouts_.ended_at DESC, group_id
