-- One row for each account, month, currency and fee.
--
-- times: the number of charges: one that is split into base, tax and promotion is one; total: their sum; unsummed: the number of
-- amounts that no sum has.
SELECT account, month, currency, fee, CAST(sum(times) AS BIGINT) AS times, sum(amount) AS total, CAST(sum(unsummed) AS BIGINT) AS unsummed
FROM fee_charges
GROUP BY account, month, currency, fee
ORDER BY account, currency, month, total
