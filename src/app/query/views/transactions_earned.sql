-- The transactions of the earned basis, with the columns of transactions: each sale when it happened, without its release, which is
-- a second record of it.
SELECT * FROM transactions WHERE status IS DISTINCT FROM 'RELEASED' OR deferred_transaction_id IS NULL
