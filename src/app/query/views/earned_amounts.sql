-- The rows of ledger_amounts on the earned basis: v0 before the account's first instant of loaded transactions, each transaction when
-- it happened from then on.
SELECT 'v0' AS source, * FROM v0_amounts
UNION ALL
SELECT '2024-06-19' AS source, * EXCLUDE (is_paid, is_earned) FROM transaction_amounts WHERE is_earned
