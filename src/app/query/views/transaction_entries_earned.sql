-- The amounts of transactions_earned, with the columns of transaction_entries.
SELECT * FROM transaction_entries WHERE status IS DISTINCT FROM 'RELEASED' OR deferred_transaction_id IS NULL
