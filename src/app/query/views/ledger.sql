-- One row for each net amount of an account's history, whichever API it came from (source): v0 before the account's first instant
-- of loaded transactions, the paid basis from then on.
SELECT source, account, month, event_id, entry, effective_at, marketplace_id, amazon_order_id, sku, kind, part AS name,
  amount, amount_text, currency, group_id
FROM ledger_amounts
WHERE role = 'net'
