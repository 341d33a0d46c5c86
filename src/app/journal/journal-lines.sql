-- One row for each line of journal_lines, in the order of a file: `taxRate` is that of its account.
--
-- debit, credit: decimal texts; date: YYYY-MM-DD.
SELECT account, journal, CAST(date AS VARCHAR) AS date, basis, settlement_id, month, ledger_code, ledger_account, taxRate,
  CAST(debit AS VARCHAR) AS debit, CAST(credit AS VARCHAR) AS credit, currency, memo
FROM journal_lines JOIN (SELECT DISTINCT ledger_code, taxRate FROM chart_of_accounts) USING (ledger_code)
ORDER BY account, currency, journal_lines.date, journal, ledger_code, ledger_account
