-- The amounts of transactions_paid, with the columns of transaction_entries.
SELECT * FROM transaction_entries WHERE status = 'RELEASED'
