-- Storage fees by month
--
-- One row for each account, currency, month and fee, the newest month first: the number of charges (times) and their sum.
--
-- $from: month = newest - 12, the first month
SELECT account, currency, month, fee, times, total
FROM fees_by_type
WHERE month >= $from AND (contains(fee, 'Storage') OR fee IN ('FBA Inventory Fee', 'FBAInventoryFee'))
ORDER BY account, currency, month DESC, total, fee
