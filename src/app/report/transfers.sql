-- One row for each settlement of an account: the id of its transfer, and its total in the currency of the bank account.
SELECT group_id, trace_id, CAST(converted_total AS VARCHAR) AS converted_total, converted_currency
FROM groups
WHERE account = $account
