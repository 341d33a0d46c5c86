-- One row for each basis (paid, earned), journal and account of the ledger: what settlements moved, split at the ends of months, their
-- payouts, and on the basis earned the deferred sales at the end of each month, which are reversed at the beginning of the next one.
--
-- Debits and credits of a journal are equal; it has one currency, and its date lies in month. The sums are those of journal_amounts.
SELECT account, journal, date, basis, settlement_id, month, ledger_code, ledger_account,
  CAST(greatest(-sum(amount), 0) AS DECIMAL(18,6)) AS debit, CAST(greatest(sum(amount), 0) AS DECIMAL(18,6)) AS credit,
  currency, memo
FROM journal_amounts
GROUP BY ALL
HAVING sum(amount) <> 0
ORDER BY account, basis, date, journal, ledger_code
