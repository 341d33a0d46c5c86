-- The transactions that release a deferred one, with the columns of transactions, and sold_at: when that one was deferred; null where
-- the lake lacks it.
SELECT *
FROM transactions
  LEFT JOIN (
    SELECT account, transaction_id AS deferred_transaction_id, min(effective_at) AS sold_at
    FROM transactions
    WHERE status LIKE 'DEFERRED%'
    GROUP BY ALL
  ) USING (account, deferred_transaction_id)
WHERE status = 'RELEASED' AND deferred_transaction_id IS NOT NULL
