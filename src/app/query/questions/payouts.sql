-- Payouts, the newest first
--
-- One row for each closed settlement: its total, the state of its transfer, and the transfer that paid it, which may be a later one
-- (paid_by), with everything that it paid (payout) and the id by which the bank finds it (trace_id).
--
-- $limit: count = 20, settlements of an account
SELECT account, group_id, started_at, ended_at, original_total AS total, currency, fund_transfer_status, paid_at, paid_by, payout, trace_id
FROM settlement_payouts
QUALIFY row_number() OVER (PARTITION BY account ORDER BY ended_at DESC, group_id) <= $limit
ORDER BY account, ended_at DESC, group_id
