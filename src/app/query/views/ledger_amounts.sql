-- One row for each amount of an account's history, of every role, with its category: v0 before the account's first instant of loaded
-- transactions, the paid basis from then on, so that nothing counts twice. The columns are those of v0_amounts, and source: v0, or the
-- API of the transactions.
SELECT 'v0' AS source, * FROM v0_amounts
UNION ALL
SELECT * EXCLUDE (is_paid, is_earned) FROM later_amounts WHERE is_paid
