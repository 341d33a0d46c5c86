-- One row for each amount of an account's history, of every role, with its category: v0 before the account's first instant of loaded
-- transactions, the paid basis from then on, so that nothing counts twice. The columns are those of paid_amounts, and source: v0 or
-- 2024-06-19.
SELECT 'v0' AS source, * FROM v0_amounts
UNION ALL
SELECT '2024-06-19' AS source, * FROM paid_amounts
