-- The transactions of the paid basis, with the columns of transactions: each when it was released, as in settlements and in v0.
SELECT * FROM transactions WHERE status = 'RELEASED'
